import { isRecord, type CatalogEntry, type IndexDefinitionData } from '@looseleaf/core'
import { isClaimsOf, isInUse, requireDefinition, sameRows } from '@looseleaf/index-engine'

/**
 * Which index a call is about: a name means all generations under it, a definition what it describes, and `{ name, generation }`
 * that generation alone.
 */
export type WhichIndex = string | IndexDefinitionData | { readonly name: string; readonly generation: number }

/** Throws `BAD_INDEX` for what names no index. */
export function requireWhich(call: string, which: unknown): asserts which is WhichIndex {
  if (typeof which === 'string') return
  const { name, generation } = isRecord(which) ? which : {}
  if (typeof name === 'string' && typeof generation === 'number') return
  requireDefinition(call, which)
}

/** Those of these entries that are meant: of rows, and the claims that belong to them, perhaps not to them alone. */
export function entriesMeant(which: WhichIndex, indexes: readonly CatalogEntry[]): readonly CatalogEntry[] {
  const rows = indexes.filter((entry) => !entry.unique && areMeant(entry, which))
  const claims = indexes.filter(
    (entry) =>
      entry.unique && (entry.name === which || rows.some((definition) => isClaimsOf(entry, definition))),
  )
  return [...rows, ...claims]
}

/** Generations are counted by their rows. */
function areMeant(rows: CatalogEntry, which: WhichIndex): boolean {
  if (typeof which === 'string') return rows.name === which
  if (!('generation' in which)) return sameRows(rows, which)
  return rows.name === which.name && rows.generation === which.generation
}

/** Whether an entry is of claims that one of these others has to have: of rows with the same keys. */
export function areClaimsOfAny(entry: CatalogEntry, others: readonly CatalogEntry[]): boolean {
  return others.some((other) => !other.unique && isInUse(other) && isClaimsOf(entry, other))
}
