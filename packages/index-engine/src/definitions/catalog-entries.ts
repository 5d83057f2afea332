import type { IndexDefinitionData } from '@looseleaf/core'
import { getOrInsert, type CatalogEntry, type IndexTableSpec } from '@looseleaf/core/internal'
import { definitionData } from './define-index.ts'
import { isExpiring } from './expiring-index.ts'
import { keyColumns } from './key-columns.ts'
import { sameProperty } from './parse-property.ts'
import { samePredicate } from './predicate.ts'

/**
 * Tells whether two definitions give the same rows on the same shards, so that they can share a table. `unique`, `onMisfit` and the
 * order of `include` make no difference.
 */
export function sameRows(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return sameKeys(a, b) && sameNames(a.include, b.include)
}

/** Compares two lists without repeats, in any order. */
function sameNames(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((name) => b.includes(name))
}

/** Tells whether two definitions give the same keys of the same entities, in the same columns and on the same shards. */
function sameKeys(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return (
    a.name === b.name &&
    a.shardOn === b.shardOn &&
    samePredicate(a.on, b.on) &&
    isExpiring(a) === isExpiring(b) &&
    a.properties.length === b.properties.length &&
    a.properties.every((property, i) => sameProperty(property, b.properties[i]))
  )
}

/**
 * Tells whether a catalog entry holds the claims for the keys of this definition, or of this entry of rows. All generations of a name
 * with the same keys share one entry of claims; `include` and `onMisfit` make no difference. A generation has other keys, and so
 * claims of its own, if a property has another type, key, order or `nulls`, or if `shardOn` or `on` differs.
 */
export function isClaimsOf(entry: IndexDefinitionData, definition: IndexDefinitionData): boolean {
  return entry.unique === true && sameKeys(entry, definition)
}

/** Tells whether a catalog entry holds the rows, or the claims, of this definition. */
export function isEntryOf(entry: IndexDefinitionData, definition: IndexDefinitionData): boolean {
  return entry.unique ? isClaimsOf(entry, definition) : sameRows(entry, definition)
}

/** Tells whether two entries of `entriesOf` can share a table. */
export function sameEntry(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return a.unique === b.unique && isEntryOf(a, b)
}

/** Returns the catalog entries of a definition: one for its rows and, if it is unique, one for its claims. */
export function entriesOf(definition: IndexDefinitionData): readonly IndexDefinitionData[] {
  const { unique, near, expires, ...keys } = definitionData(definition)
  const rows = { ...keys, ...(near && { near }), ...(isExpiring(definition) && { expires }) }
  if (!unique) return [rows]
  const { include: _, ...claims } = keys
  return [rows, { ...claims, unique }]
}

/**
 * Returns the table of a catalog entry: `index_<name>` for the first generation, `index_<name>_<generation>` for later ones. Tables of
 * claims begin with `claims_`.
 */
export function tableName(
  { name, unique }: Pick<IndexDefinitionData, 'name' | 'unique'>,
  generation: number,
): string {
  const first = `${unique ? 'claims' : 'index'}_${name}`
  return generation === 1 ? first : `${first}_${generation}`
}

/**
 * Returns catalog entries for these definitions, each with the next generation of its name. Dropped generations count, so that no
 * table name is used twice.
 */
export function nextGenerations(
  indexes: readonly CatalogEntry[],
  definitions: readonly IndexDefinitionData[],
): readonly CatalogEntry[] {
  const entries: CatalogEntry[] = []
  for (const definition of definitions) {
    const { name, unique } = definition
    const generations = [...indexes, ...entries]
      .filter((entry) => entry.name === name && entry.unique === unique)
      .map((entry) => entry.generation)
    const generation = Math.max(0, ...generations) + 1
    const table = tableName({ name, unique }, generation)
    entries.push({ ...definitionData(definition), generation, table, state: 'dropped' })
  }
  return entries
}

/** By catalog entry, because every index row needs the spec of its table. An entry stays the same object until the process reads another catalog. */
const specs = new WeakMap<TableEntry, IndexTableSpec>()

/** Returns the table of a catalog entry as drivers take it; the same object for the same entry. */
export function tableSpec(entry: TableEntry): IndexTableSpec {
  return getOrInsert(specs, entry, specOf)
}

type TableEntry = Pick<CatalogEntry, 'table' | 'properties' | 'unique' | 'include'>

function specOf({ table, properties, unique, include }: TableEntry): IndexTableSpec {
  const columns = keyColumns({ properties })
  return { table, columns, ...(unique && { unique }), ...(include && { covering: true }) }
}
