import type { CallOptions, LooseleafError } from '@looseleaf/core'
import { formatRanges, isOfShard } from '@looseleaf/core/internal'
import { isRemoved, type EngineContext } from '@looseleaf/index-engine/internal'
import { sizesOn, totalOf, type BucketSize } from '@looseleaf/mover/internal'
import { createThrottle } from '@looseleaf/protocol/internal'

export interface ListShardsOptions extends CallOptions {
  /** Counts the entities, tombstones, bytes and rows of each shard. Reads all ids and index rows. Default: false. */
  readonly sizes?: boolean | undefined
}

export interface ListedShard {
  readonly number: number
  /** Its address without credentials. */
  readonly address: string
  /**
   * `joining`: its tables are being made; run `add` again if that was interrupted. `draining`: its buckets are moving to the other shards, and
   * none comes. `removed`: it is no part of the store any more, and no process sends it statements.
   */
  readonly state: 'joining' | 'serving' | 'draining' | 'removed'
  /** Number of its buckets; undefined for a router without buckets. */
  readonly buckets: number | undefined
  /** Its buckets as ranges, such as `0-76,97`; undefined for a router without buckets. */
  readonly ranges: string | undefined
  /** Exact counts of all that it has; undefined without the option `sizes`, if the shard does not answer, and for a removed shard. */
  readonly size: BucketSize | undefined
  /** The error of the shard; undefined if this process reaches it, and for a removed shard, which is not asked. */
  readonly error: LooseleafError | undefined
}

export async function listShards(
  context: EngineContext,
  { sizes = false, ...options }: ListShardsOptions,
): Promise<readonly ListedShard[]> {
  const { driver, catalog } = context
  const work = { context, throttle: createThrottle(context.time, undefined), signal: options.signal }
  const { layout, placement } = await catalog.reload(options)
  const hasBuckets = layout?.scheme !== undefined
  const owned = Map.groupBy(
    placement.shardOfBucket?.keys() ?? [],
    (bucket) => placement.shardOfBucket?.[bucket],
  )
  return Promise.all(
    driver.shards.map(async (shard, number): Promise<ListedShard> => {
      let error: LooseleafError | undefined
      let size: BucketSize | undefined
      try {
        if (!isRemoved(layout, number)) await shard.catalog.load(options)
        if (sizes && !isRemoved(layout, number)) size = totalOf((await sizesOn(work, number)).values())
      } catch (reason) {
        if (!isOfShard(reason)) throw reason
        error = reason
      }
      const buckets = owned.get(number) ?? []
      return {
        number,
        address: layout?.shards[number]?.name ?? shard.name,
        state: layout?.shards[number]?.state ?? 'serving',
        buckets: hasBuckets ? buckets.length : undefined,
        ranges: hasBuckets ? formatRanges(buckets.map((bucket) => [bucket, bucket])) : undefined,
        size,
        error,
      }
    }),
  )
}
