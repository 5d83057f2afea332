import type { CallOptions } from '@looseleaf/core'
import { checkOptions, type CatalogEntry } from '@looseleaf/core/internal'
import { changeCatalog, isInUse, type EngineContext } from '@looseleaf/index-engine/internal'
import { optionsOf } from '../call-options.ts'
import { areClaimsOfAny, selectEntries, requireWhich, type IndexSelector } from './index-selector.ts'

/** The mark that each call sets on an index in use, or removes from it. */
const MARKS = {
  hideIndex: { mark: 'hidden', isMarked: true },
  restoreIndex: { mark: 'hidden', isMarked: false },
  pauseIndex: { mark: 'paused', isMarked: true },
  resumeIndex: { mark: 'paused', isMarked: false },
} as const

/**
 * Sets or removes a mark on the selected entries of an index, in one change of the catalog. Returns false if there is no entry to mark.
 * Only a `building` index can be paused. Claims that generations share are hidden with the last of these. Takes no lease: a retiring index
 * stays as it is.
 */
export async function markIndex(
  context: EngineContext,
  call: keyof typeof MARKS,
  which: IndexSelector,
  options: CallOptions,
): Promise<boolean> {
  checkOptions(call, options, optionsOf.call)
  requireWhich(call, which)
  const { mark, isMarked } = MARKS[call]
  let isFound = false
  const changed = await changeCatalog(
    context.driver,
    (indexes) => {
      const selected = new Set(selectEntries(which, indexes.filter(isInUse)))
      const shown = indexes.filter((entry) => !entry.hidden && !selected.has(entry))
      const isMarkable = (entry: CatalogEntry): boolean =>
        selected.has(entry) &&
        (mark === 'hidden' ? !isMarked || !areClaimsOfAny(entry, shown) : entry.state === 'building')
      isFound = indexes.some(isMarkable)
      const changes = (entry: CatalogEntry): boolean =>
        isMarkable(entry) && (entry[mark] === true) !== isMarked
      if (!indexes.some(changes)) return undefined
      return indexes.map((entry) => (changes(entry) ? withMark(entry, mark, isMarked) : entry))
    },
    options,
  )
  context.catalog.adopt(changed)
  return isFound
}

function withMark(entry: CatalogEntry, mark: 'hidden' | 'paused', isMarked: boolean): CatalogEntry {
  const { [mark]: _, ...plain } = entry
  return isMarked ? { ...plain, [mark]: true } : plain
}
