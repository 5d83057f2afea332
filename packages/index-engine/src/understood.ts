import { LooseleafError, type IndexedProperty, type Requirement, type ShardCatalog } from '@looseleaf/core'
import { requireKey } from './key-functions.ts'
import { isPath } from './property-value.ts'

/** The form in which this version writes catalogs. */
export const CATALOG_FORMAT = 1

type Contents = Pick<ShardCatalog, 'indexes' | 'deleteDelayMs' | 'definitions'>

/** What this version understands of what stores may require, and which stores do. */
const KNOWN: readonly (Requirement & { isRequired(contents: Contents): boolean })[] = [
  // Index rows that a write made superfluous stay for a time.
  {
    name: 'delete-delay',
    since: '0.1.0',
    isRequired: ({ deleteDelayMs = 0 }) => deleteDelayMs > 0,
  },
  // Indexes of values within objects.
  {
    name: 'paths',
    since: '0.1.0',
    isRequired: (contents) => keptOf(contents).some(({ name }) => isPath(name)),
  },
  // Indexes of something else than values under their names.
  {
    name: 'keys',
    since: '0.1.0',
    isRequired: (contents) => keptOf(contents).some(({ of, key }) => of !== undefined || key !== undefined),
  },
  // Rows of entities that have nothing there.
  {
    name: 'nulls',
    since: '0.1.0',
    isRequired: (contents) => keptOf(contents).some(({ nulls }) => nulls !== undefined),
  },
  // Properties whose values stand from the greatest to the least.
  {
    name: 'descending',
    since: '0.1.0',
    isRequired: (contents) => keptOf(contents).some(({ order }) => order !== undefined),
  },
  // Rows that hold properties of their entity, and so are written with each of its writes.
  {
    name: 'include',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, include }) => state !== 'dropped' && include),
  },
  // Indexes of some entities only: other processes would write rows of all.
  {
    name: 'partial',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, on }) => state !== 'dropped' && on),
  },
  // Partial indexes of entities with any of some values: other processes would take a list for a value that no entity has.
  {
    name: 'partial-lists',
    since: '0.1.0',
    isRequired: ({ indexes }) =>
      indexes.some(({ state, on = {} }) => state !== 'dropped' && Object.values(on).some(Array.isArray)),
  },
  // Times from which entities are deleted: other processes would show them, and take the index for one that they may change.
  {
    name: 'expires',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, expires }) => state !== 'dropped' && expires),
  },
  // Bodies that are read with what is stored beside them.
  {
    name: 'definitions',
    since: '0.1.0',
    isRequired: ({ definitions }) => definitions === true,
  },
  // Claims, which writers take before they commit.
  {
    name: 'unique',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, unique }) => state !== 'dropped' && unique),
  },
]

/** The properties of all indexes that have rows. */
function keptOf({ indexes }: Contents): readonly IndexedProperty[] {
  return indexes.flatMap(({ state, properties }) => (state === 'dropped' ? [] : properties))
}

/** What a process has to understand that takes part in a store with such a catalog; undefined for nothing. */
export function requirementsOf(contents: Contents): readonly Requirement[] | undefined {
  const required = KNOWN.filter(({ isRequired }) => isRequired(contents))
  return required.length === 0 ? undefined : required.map(({ name, since }) => ({ name, since }))
}

/**
 * Makes sure that this process understands a store, by the catalog of one of its shards: the form of it, and all that it
 * requires. Throws `STORE_TOO_NEW`.
 */
export function requireUnderstood(shardName: string, catalog: ShardCatalog): void {
  const { format = 1, requires = [] } = catalog
  if (format !== CATALOG_FORMAT) {
    throw tooNew(
      shardName,
      `its catalog has format ${format}, and this version knows format ${CATALOG_FORMAT}`,
    )
  }
  const unknown = requires.filter(({ name }) => !KNOWN.some((known) => known.name === name))
  if (unknown.length > 0) {
    throw tooNew(shardName, `the store requires ${list(unknown)}, which this version does not know`)
  }
  // After what no version of this process could know: its program has to say what its own keys are.
  for (const { key } of keptOf(catalog)) if (key !== undefined) requireKey(key, shardName)
}

const list = (requires: readonly Requirement[]): string =>
  requires.map(({ name, since }) => `${name} (in @looseleaf/store from ${since} on)`).join(', ')

function tooNew(shard: string, what: string): LooseleafError {
  return new LooseleafError(
    'STORE_TOO_NEW',
    `Shard ${shard}: ${what}. Nothing was written. Update the Looseleaf packages of this process.`,
    { shard },
  )
}
