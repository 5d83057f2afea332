import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import {
  bucketsOf,
  loadShardCatalog,
  loadShardCatalogs,
  mergeCatalogs,
  isRemoved,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { holdsEntities } from '../opening/holds-entities.ts'
import { refuse } from '../opening/check-shard.ts'

/** Place of a database in a store that it joins. */
export interface Candidate {
  /** Its number, or the one that is free now. */
  readonly number: number
  /** True if the layout has it already. */
  readonly isMember: boolean
}

/**
 * Checks that a database may become a shard, or is one under this address. Changes nothing. Throws `LAYOUT_MISMATCH` otherwise, and the
 * error of a shard that does not answer.
 */
export async function requireCandidate(
  { driver, router }: EngineContext,
  shard: Shard,
  options: CallOptions,
): Promise<Candidate> {
  const catalogs = await loadShardCatalogs(driver, options)
  // A database that is shard `n` has at least the epoch that shard `n` had before.
  const own = await loadShardCatalog(shard, options)
  const { layout, storeId } = mergeCatalogs(catalogs)
  if (bucketsOf(router) === undefined) {
    throw new LooseleafError(
      'LAYOUT_MISMATCH',
      `The router of this store, ${router.fingerprint}, has no buckets, so its shards are fixed. Make a new store, and copy the entities with \`looseleaf export\` and \`looseleaf import\`.`,
    )
  }
  if (layout === undefined) {
    throw new LooseleafError(
      'NOT_MIGRATED',
      'The catalog of this store has no layout. Open the store once with `migrate: true`, or run `looseleaf init`, and add the shard then.',
    )
  }
  const known = layout.shards.findIndex(({ name, state }) => name === shard.name && state !== 'removed')
  if (known !== -1) {
    if (own?.storeId === storeId && own.shardNumber === known) return { number: known, isMember: true }
    refuse(
      shard,
      `by the layout it is shard ${known} of the store, but its database has another catalog or none. Check that the address leads to the same database.`,
    )
  }
  const free = layout.shards.length
  if (own === undefined) {
    if (await holdsEntities(shard, options))
      refuse(shard, 'it has no catalog, but holds entities. A shard that joins has to be an empty database.')
    return { number: free, isMember: false }
  }
  if (own.storeId !== storeId)
    refuse(
      shard,
      `it belongs to another store (${own.storeId}). A shard that joins has to be an empty database.`,
    )
  if (isRemoved(layout, own.shardNumber)) {
    refuse(
      shard,
      `it was shard ${own.shardNumber} of this store, and was removed. A shard that joins has to be an empty database: drop its tables first.`,
    )
  }
  const member = catalogs[own.shardNumber]
  if (member !== undefined && own.epoch >= member.epoch) {
    refuse(
      shard,
      `it is shard ${own.shardNumber} of this store under the address ${layout.shards[own.shardNumber]?.name}. Two addresses lead to the same database, or one is a copy of the other.`,
    )
  }
  // An earlier attempt to add it has stopped before the layout had it.
  return { number: free, isMember: false }
}
