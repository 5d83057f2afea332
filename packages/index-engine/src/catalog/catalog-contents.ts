import type { ShardCatalog } from '@looseleaf/core/internal'

/** The mutable part of a shard's catalog, the same on all shards. */
export type CatalogContents = Pick<
  ShardCatalog,
  | 'requires'
  | 'layout'
  | 'indexes'
  | 'mayDefer'
  | 'deleteDelayMs'
  | 'onIndexFailure'
  | 'keepTombstonesMs'
  | 'definitions'
  | 'exactIndexes'
>

/** Picks the contents from a catalog. */
export const contentsOf = ({
  requires,
  layout,
  indexes,
  mayDefer,
  deleteDelayMs,
  onIndexFailure,
  keepTombstonesMs,
  definitions,
  exactIndexes,
}: CatalogContents): CatalogContents => ({
  requires,
  layout,
  indexes,
  mayDefer,
  deleteDelayMs,
  onIndexFailure,
  keepTombstonesMs,
  definitions,
  exactIndexes,
})
