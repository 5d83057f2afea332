import { isLooseleafError, type CallOptions, type LooseleafError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'

export interface ListedShard {
  readonly number: number
  /** Its address without credentials. */
  readonly address: string
  /**
   * `joining`: its tables are being made; run `add` again if that was interrupted. `draining`: its buckets are moving to the other shards, and
   * none comes.
   */
  readonly state: 'joining' | 'serving' | 'draining' | 'removed'
  /** Number of its buckets; undefined for a router without buckets. */
  readonly buckets: number | undefined
  /** The error of the shard; undefined if this process reaches it. */
  readonly error: LooseleafError | undefined
}

export async function listShards(
  { driver, catalog }: EngineContext,
  options: CallOptions,
): Promise<readonly ListedShard[]> {
  const { layout, placement } = await catalog.reload(options)
  const counts = new Map<number, number>()
  for (const shard of placement.shardOfBucket ?? []) counts.set(shard, (counts.get(shard) ?? 0) + 1)
  return Promise.all(
    driver.shards.map(async (shard, number): Promise<ListedShard> => {
      const error = await shard.catalog.load(options).then(
        () => undefined,
        (reason: unknown) => {
          if (!isLooseleafError(reason) || reason.code === 'ABORTED' || reason.code === 'CLOSED') throw reason
          return reason
        },
      )
      return {
        number,
        address: layout?.shards[number]?.name ?? shard.name,
        state: layout?.shards[number]?.state ?? 'serving',
        buckets: layout?.scheme === undefined ? undefined : (counts.get(number) ?? 0),
        error,
      }
    }),
  )
}
