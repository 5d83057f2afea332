import type { ShardCatalog } from '@looseleaf/core/internal'

const NAMES = [
  'requires',
  'layout',
  'indexes',
  'mayDefer',
  'deleteDelayMs',
  'onIndexFailure',
  'keepTombstonesMs',
  'definitions',
  'exactIndexes',
  'entityTable',
] as const

/** The mutable part of a shard's catalog, the same on all shards. */
export type CatalogContents = Pick<ShardCatalog, (typeof NAMES)[number]>

/** Picks the contents from a catalog. */
export function contentsOf(catalog: CatalogContents): CatalogContents {
  return Object.fromEntries(NAMES.map((name) => [name, catalog[name]])) as unknown as CatalogContents
}
