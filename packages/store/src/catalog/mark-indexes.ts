import { checkOptions, type CallOptions, type CatalogEntry } from '@looseleaf/core'
import { changeCatalog, isInUse, type EngineContext } from '@looseleaf/index-engine'
import { optionsOf } from '../call-options.ts'
import { areClaimsOfAny, entriesMeant, requireWhich, type WhichIndex } from './which-index.ts'

/** What may be said of an index in use besides its state, and which call says so or takes it back. */
const MARKS = {
  hideIndex: { mark: 'hidden', isMarked: true },
  restoreIndex: { mark: 'hidden', isMarked: false },
  pauseIndex: { mark: 'paused', isMarked: true },
  resumeIndex: { mark: 'paused', isMarked: false },
} as const

/**
 * Marks what is meant of an index, or takes the mark from it, in one change of the catalog. A filling that has ended cannot be
 * paused. Claims that several generations share are hidden with the last of them only. False where there is nothing to mark.
 *
 * It waits for nobody else who changes indexes: what is on its way out by then is left alone.
 */
export async function markIndex(
  context: EngineContext,
  call: keyof typeof MARKS,
  which: WhichIndex,
  options: CallOptions,
): Promise<boolean> {
  checkOptions(call, options, optionsOf.call)
  requireWhich(call, which)
  const { mark, isMarked } = MARKS[call]
  let isThere = false
  const changed = await changeCatalog(
    context.driver,
    (indexes) => {
      const meant = new Set(entriesMeant(which, indexes.filter(isInUse)))
      const shown = indexes.filter((entry) => !entry.hidden && !meant.has(entry))
      const isToMark = (entry: CatalogEntry): boolean =>
        meant.has(entry) &&
        (mark === 'hidden' ? !isMarked || !areClaimsOfAny(entry, shown) : entry.state === 'building')
      isThere = indexes.some(isToMark)
      const isOther = (entry: CatalogEntry): boolean => isToMark(entry) && (entry[mark] === true) !== isMarked
      if (!indexes.some(isOther)) return undefined
      return indexes.map((entry) => (isOther(entry) ? withMark(entry, mark, isMarked) : entry))
    },
    options,
  )
  context.catalog.adopt(changed)
  return isThere
}

function withMark(entry: CatalogEntry, mark: 'hidden' | 'paused', isMarked: boolean): CatalogEntry {
  const { [mark]: _, ...plain } = entry
  return isMarked ? { ...plain, [mark]: true } : plain
}
