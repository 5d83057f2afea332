import { checkOptions, type CallOptions, type CatalogEntry, type IndexDefinitionData } from '@looseleaf/core'
import { changeCatalog, isInUse, sameRows, type EngineContext } from '@looseleaf/index-engine'
import { optionsOf } from '../call-options.ts'
import { requireDefinition } from '../calls/require-definition.ts'

/** What may be said of an index in use besides its state, and which call says so or takes it back. */
const MARKS = {
  hideIndex: { mark: 'hidden', isMarked: true },
  restoreIndex: { mark: 'hidden', isMarked: false },
  pauseIndex: { mark: 'paused', isMarked: true },
  resumeIndex: { mark: 'paused', isMarked: false },
} as const

/**
 * Marks an index, or takes the mark from it, in one change of the catalog: by definition its generation, by name all of
 * them. A filling that has ended cannot be paused. False where there is nothing to mark.
 *
 * It waits for nobody else who changes indexes: what is on its way out by then is left alone.
 */
export async function markIndex(
  context: EngineContext,
  call: keyof typeof MARKS,
  which: string | IndexDefinitionData,
  options: CallOptions,
): Promise<boolean> {
  checkOptions(call, options, optionsOf.call)
  if (typeof which !== 'string') requireDefinition(call, which)
  const { mark, isMarked } = MARKS[call]
  const isMeant = (entry: CatalogEntry): boolean =>
    (typeof which === 'string' ? entry.name === which : sameRows(entry, which)) &&
    isInUse(entry) &&
    (mark === 'hidden' || entry.state === 'building')
  let isThere = false
  const changed = await changeCatalog(
    context.driver,
    (indexes) => {
      isThere = indexes.some(isMeant)
      const isOther = (entry: CatalogEntry): boolean => isMeant(entry) && (entry[mark] === true) !== isMarked
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
