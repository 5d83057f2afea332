import { LooseleafError } from '@looseleaf/core'
import type { IndexedProperty, Requirement, ShardCatalog } from '@looseleaf/core/internal'
import { requireKey } from '../definitions/key-functions.ts'
import { isPath } from '../definitions/property-value.ts'

/** Format of the catalogs that this version reads and writes. */
export const CATALOG_FORMAT = 1

type Contents = Pick<ShardCatalog, 'indexes' | 'deleteDelayMs' | 'definitions' | 'layout'>

/** The features that a store may require of its processes. */
const KNOWN: readonly (Requirement & { isRequired(contents: Contents): boolean })[] = [
  // Lost index rows stay for a time.
  {
    name: 'delete-delay',
    since: '0.1.0',
    isRequired: ({ deleteDelayMs = 0 }) => deleteDelayMs > 0,
  },
  // A layout that has changed. An older process goes by its router's map, which is right only until then.
  {
    name: 'layout',
    since: '0.1.0',
    isRequired: ({ layout }) => layout !== undefined && layout.revision > 0,
  },
  // Indexes of values within objects.
  {
    name: 'paths',
    since: '0.1.0',
    isRequired: (contents) => indexedProperties(contents).some(({ name }) => isPath(name)),
  },
  // Indexed properties with `of` or `key`.
  {
    name: 'keys',
    since: '0.1.0',
    isRequired: (contents) =>
      indexedProperties(contents).some(({ of, key }) => of !== undefined || key !== undefined),
  },
  // Rows of entities with an absent property.
  {
    name: 'nulls',
    since: '0.1.0',
    isRequired: (contents) => indexedProperties(contents).some(({ nulls }) => nulls !== undefined),
  },
  // Properties in descending order.
  {
    name: 'descending',
    since: '0.1.0',
    isRequired: (contents) => indexedProperties(contents).some(({ order }) => order !== undefined),
  },
  // Covering indexes, whose rows every write of an entity rewrites.
  {
    name: 'include',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, include }) => state !== 'dropped' && include),
  },
  // Partial indexes. An older process would write rows of all entities.
  {
    name: 'partial',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, on }) => state !== 'dropped' && on),
  },
  // Lists in the `on` of partial indexes. An older process would take a list for a value that no entity has.
  {
    name: 'partial-lists',
    since: '0.1.0',
    isRequired: ({ indexes }) =>
      indexes.some(({ state, on = {} }) => state !== 'dropped' && Object.values(on).some(Array.isArray)),
  },
  // Expiry of entities. An older process would show expired entities, and take the index for a plain one.
  {
    name: 'expires',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, expires }) => state !== 'dropped' && expires),
  },
  // Shapes and dictionaries of the codec, without which bodies cannot be decoded.
  {
    name: 'definitions',
    since: '0.1.0',
    isRequired: ({ definitions }) => definitions === true,
  },
  // Claims, which writers have to take before they commit.
  {
    name: 'unique',
    since: '0.1.0',
    isRequired: ({ indexes }) => indexes.some(({ state, unique }) => state !== 'dropped' && unique),
  },
]

/** Returns the properties of all indexes that are not dropped. */
function indexedProperties({ indexes }: Contents): readonly IndexedProperty[] {
  return indexes.flatMap(({ state, properties }) => (state === 'dropped' ? [] : properties))
}

/** Returns the features that a store with this catalog requires of its processes; undefined if there are none. */
export function requirementsOf(contents: Contents): readonly Requirement[] | undefined {
  const required = KNOWN.filter(({ isRequired }) => isRequired(contents))
  return required.length === 0 ? undefined : required.map(({ name, since }) => ({ name, since }))
}

/** Throws `STORE_TOO_NEW` if this process lacks the format, a feature or a key function that a shard's catalog requires. */
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
  // Last, because its advice differs: the program has to define its key functions, while the errors above need a newer version.
  for (const { key } of indexedProperties(catalog)) if (key !== undefined) requireKey(key, shardName)
}

const list = (requires: readonly Requirement[]): string =>
  requires.map(({ name, since }) => `${name} (in @looseleaf/store from ${since} on)`).join(', ')

function tooNew(shard: string, reason: string): LooseleafError {
  return new LooseleafError(
    'STORE_TOO_NEW',
    `Shard ${shard}: ${reason}. Nothing was written. Update the Looseleaf packages of this process.`,
    { shard },
  )
}
