import { LooseleafError } from '@looseleaf/core'
import type { CatalogEntry, IndexedProperty, Requirement, ShardCatalog } from '@looseleaf/core/internal'
import { requireKey } from '../definitions/key-functions.ts'
import { isPath } from '../definitions/property-value.ts'

/** Format of the catalogs that this version reads and writes. */
export const CATALOG_FORMAT = 1

type Contents = Pick<ShardCatalog, 'indexes' | 'deleteDelayMs' | 'definitions' | 'layout' | 'exactIndexes'>

type Feature = Requirement & { isRequired(contents: Contents): boolean }

/** The features that a store may require of its processes. */
const KNOWN: readonly Feature[] = [
  feature('delete-delay', ({ deleteDelayMs = 0 }) => deleteDelayMs > 0),
  // A process without it goes by its router's map, which is right only until the layout changes.
  feature('layout', ({ layout }) => layout !== undefined && layout.revision > 0),
  // A process without it would write a bucket that is being handed over, and rows on one of their two shards.
  feature('moves', ({ layout }) => layout?.moves !== undefined, '0.2.0'),
  ofProperties('paths', ({ name }) => isPath(name)),
  ofProperties('keys', ({ of, key }) => of !== undefined || key !== undefined),
  ofProperties('nulls', ({ nulls }) => nulls !== undefined),
  ofProperties('descending', ({ order }) => order !== undefined),
  ofIndexes('include', ({ include }) => include !== undefined),
  ofIndexes('partial', ({ on }) => on !== undefined),
  // A process without it would take a list for a value that no entity has.
  ofIndexes('partial-lists', ({ on = {} }) => Object.values(on).some(Array.isArray)),
  ofIndexes('expires', ({ expires }) => expires !== undefined),
  feature('definitions', ({ definitions }) => definitions === true),
  // A process without it would read an exact index in several statements, and miss entities that move between them.
  feature(
    'near-1',
    ({ exactIndexes, indexes }) =>
      exactIndexes === true || indexes.some(({ state, exact }) => state !== 'dropped' && exact !== undefined),
    '0.2.0',
  ),
  ofIndexes('unique', ({ unique }) => unique === true),
]

function feature(name: string, isRequired: Feature['isRequired'], since = '0.1.0'): Feature {
  return { name, since, isRequired }
}

function ofIndexes(name: string, uses: (index: CatalogEntry) => boolean): Feature {
  return feature(name, ({ indexes }) => indexes.some((index) => index.state !== 'dropped' && uses(index)))
}

function ofProperties(name: string, uses: (property: IndexedProperty) => boolean): Feature {
  return ofIndexes(name, ({ properties }) => properties.some(uses))
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
  for (const { state, properties } of catalog.indexes) {
    if (state === 'dropped') continue
    for (const { key } of properties) if (key !== undefined) requireKey(key, shardName)
  }
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
