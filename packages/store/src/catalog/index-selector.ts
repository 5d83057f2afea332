import type { IndexDefinitionData } from '@looseleaf/core'
import { isRecord, type CatalogEntry } from '@looseleaf/core/internal'
import { isClaimsOf, isInUse, requireDefinition, sameRows } from '@looseleaf/index-engine/internal'

/** Selects indexes: a name selects all of its generations, a definition its own generation, and `{ name, generation }` one. */
export type IndexSelector =
  | string
  | IndexDefinitionData
  | { readonly name: string; readonly generation: number }

/** Throws `BAD_INDEX` if the value cannot select an index. */
export function requireWhich(call: string, which: unknown): asserts which is IndexSelector {
  if (typeof which === 'string') return
  const { name, generation } = isRecord(which) ? which : {}
  if (typeof name === 'string' && typeof generation === 'number') return
  requireDefinition(
    call,
    which,
    'the name of an index, { name, generation }, or an index as defineIndex gives it',
  )
}

/** Returns the selected entries: those of rows, and their claims, which other generations may share. */
export function selectEntries(
  which: IndexSelector,
  indexes: readonly CatalogEntry[],
): readonly CatalogEntry[] {
  const rows = indexes.filter((entry) => !entry.unique && isSelected(entry, which))
  const claims = indexes.filter(
    (entry) =>
      entry.unique && (entry.name === which || rows.some((definition) => isClaimsOf(entry, definition))),
  )
  return [...rows, ...claims]
}

/** Compares an entry of rows, which have the number of the generation. */
function isSelected(rows: CatalogEntry, which: IndexSelector): boolean {
  if (typeof which === 'string') return rows.name === which
  if (!('generation' in which)) return sameRows(rows, which)
  return rows.name === which.name && rows.generation === which.generation
}

/** Returns true if the entry is of claims that one of these others needs: an index in use with the same keys. */
export function areClaimsOfAny(entry: CatalogEntry, others: readonly CatalogEntry[]): boolean {
  return others.some((other) => !other.unique && isInUse(other) && isClaimsOf(entry, other))
}
