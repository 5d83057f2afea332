import { LooseleafError, type Router } from '@looseleaf/core'
import {
  badOption,
  describeKind,
  getOrInsert,
  type RouterBuckets,
  type ShardCatalog,
  type StoreLayout,
} from '@looseleaf/core/internal'
import { bucketsOf, parseBuckets } from './layout.ts'
import { ownersOf } from './owners.ts'
import { rowPlacesOf, singleShards } from './row-places.ts'

/**
 * The shards of entities, index rows and claims by one catalog. Take it from the catalog that the attempt or the read goes by, and do
 * not keep it: the next catalog may have another layout, or a shard with other buckets.
 */
export interface Placement {
  /** Returns the shard of an entity: the owner of its bucket. */
  shardOfId(id: Uint8Array): number
  /** Tells whether writes of the entity have to wait, because its bucket is being handed over. Reads need not wait. */
  isSealed(id: Uint8Array): boolean
  /**
   * Tells whether the entity's shard serves it. False if another shard has given the bucket up and this one has not begun, as far as
   * the catalog tells: then the change that begins comes before any read or write.
   */
  isServed(id: Uint8Array): boolean
  /**
   * Returns the time at which the entity's bucket came to its shard; -1 if the shard has always had it. By two catalogs with the same
   * shard and the same arrival, the shard owned the bucket all the time in between. One move may bring a bucket twice, with new places of
   * its entities, if the shard has lost it.
   */
  arrivalOfId(id: Uint8Array): number
  /** Returns the buckets whose entities a shard serves, each with the time at which it came (`arrivalOfId`). Empty without buckets. */
  servedOn(shard: number): ReadonlyMap<number, number>
  /** The shards of index rows and claims. */
  readonly rows: RowPlacement
  /** Returns the buckets of ids and keys; undefined for a router without buckets. */
  readonly buckets?: Pick<RouterBuckets, 'ofId' | 'ofKey'> | undefined
  /** The owner of each bucket; undefined for a router without buckets. */
  readonly shardOfBucket?: readonly number[] | undefined
}

/** Tells whether the entity may be written now: the owner of its bucket serves it, and is not handing it over. */
export function isWritable({ isSealed, isServed }: Placement, id: Uint8Array): boolean {
  return !isSealed(id) && isServed(id)
}

/** The shards of index rows and claims, by the value of their `shardOn`. */
export interface RowPlacement {
  /** The shards that may have rows: all that were not removed. */
  readonly shards: readonly number[]
  /** Returns the shard where rows of an id, or of another uuid, are read. */
  readOfId(id: Uint8Array): number
  /** Returns the shard where rows of any other key are read. */
  readOfKey(key: Uint8Array): number
  /**
   * Returns the shards where rows of an id, or of another uuid, are written and deleted: one, or two while a move of the bucket is
   * announced. Claims are taken in this order.
   */
  writtenOfId(id: Uint8Array): readonly number[]
  writtenOfKey(key: Uint8Array): readonly number[]
}

/** The part of a catalog that the placement depends on. */
export interface PlacedContents {
  readonly layout?: StoreLayout | undefined
  /** By shard number; undefined for a shard whose catalog is unknown. */
  readonly shards: readonly (ShardCatalog | undefined)[]
}

/**
 * Creates the placement of a catalog for a process with these shards. Without a layout, and for a router without buckets, the router's
 * own assignment counts. Throws `CATALOG_DAMAGED`, and `LAYOUT_MISMATCH` for another number of shards.
 */
export function createPlacement(
  router: Router,
  { layout, shards }: PlacedContents,
  shardCount: number,
): Placement {
  if (layout !== undefined && layout.shards.length !== shardCount) {
    throw new LooseleafError(
      'LAYOUT_MISMATCH',
      `The store has ${layout.shards.length} shards by now, and this process was given ${shardCount}. Open the store again with all of its shards.`,
    )
  }
  const buckets = bucketsOf(router)
  if (buckets === undefined || layout?.scheme === undefined) return placementOfRouter(router)
  const { ofId, ofKey } = buckets
  const layoutOwners = parseBuckets(layout, buckets.shards.length)
  const { shardOfBucket, sealed, unserved, arrivals } = ownersOf(layoutOwners, layout, shards)
  const { readAt, writtenAt } = rowPlacesOf(layoutOwners, layout.moves ?? [], shardCount)
  const present = layout.shards.flatMap(({ state }, number) => (state === 'removed' ? [] : [number]))
  return {
    shardOfId: (id) => shardOfBucket[ofId(id)]!,
    isSealed: (id) => sealed.size > 0 && sealed.has(ofId(id)),
    isServed: (id) => unserved.size === 0 || !unserved.has(ofId(id)),
    arrivalOfId: (id) => arrivals[ofId(id)]!,
    servedOn: createServedOn(shardOfBucket, (bucket) =>
      unserved.has(bucket) ? undefined : arrivals[bucket],
    ),
    rows: {
      shards: present,
      readOfId: (id) => readAt[ofId(id)]!,
      readOfKey: (key) => readAt[ofKey(key)]!,
      writtenOfId: (id) => writtenAt[ofId(id)]!,
      writtenOfKey: (key) => writtenAt[ofKey(key)]!,
    },
    buckets,
    shardOfBucket,
  }
}

/** Creates the placement by a router's own assignment. Its functions throw `BAD_OPTION` where the router returns no shard. */
export function placementOfRouter(router: Router): Placement {
  const single = singleShards(router.shardCount)
  const checked = (method: 'shardOfId' | 'shardOfKey', bytes: Uint8Array): number => {
    const shard = router[method](bytes)
    if (single[shard] !== undefined) return shard
    throw badOption(
      `The router's ${method} has to return the number of a shard, from 0 to ${router.shardCount - 1}; it returned ${typeof shard === 'number' ? shard : describeKind(shard)}.`,
    )
  }
  const ofId = (id: Uint8Array): number => checked('shardOfId', id)
  const ofKey = (key: Uint8Array): number => checked('shardOfKey', key)
  return {
    shardOfId: ofId,
    isSealed: () => false,
    isServed: () => true,
    arrivalOfId: () => -1,
    servedOn: createServedOn(router.buckets?.shards ?? [], () => -1),
    rows: {
      shards: Array.from(single.keys()),
      readOfId: ofId,
      readOfKey: ofKey,
      writtenOfId: (id) => single[ofId(id)]!,
      writtenOfKey: (key) => single[ofKey(key)]!,
    },
    buckets: router.buckets,
    shardOfBucket: router.buckets?.shards,
  }
}

/**
 * Lists the buckets of a shard once, because every reading of the shard asks for them. `arrivalOf` returns undefined for a bucket that
 * no shard serves.
 */
function createServedOn(
  shardOfBucket: readonly number[],
  arrivalOf: (bucket: number) => number | undefined,
): Placement['servedOn'] {
  const lists = new Map<number, ReadonlyMap<number, number>>()
  const list = (shard: number): ReadonlyMap<number, number> => {
    const served = new Map<number, number>()
    for (const [bucket, owner] of shardOfBucket.entries()) {
      const arrival = owner === shard ? arrivalOf(bucket) : undefined
      if (arrival !== undefined) served.set(bucket, arrival)
    }
    return served
  }
  return (shard) => getOrInsert(lists, shard, list)
}
