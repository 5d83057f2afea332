import { isLooseleafError, type LooseleafError, type Shard } from '@looseleaf/core'
import type { Session } from '../session.ts'

/** How a shard answers. */
export interface ShardLook {
  readonly name: string
  /** Milliseconds for a question that costs it nothing; undefined where it has not answered. */
  readonly answersInMs: number | undefined
  readonly error: LooseleafError | undefined
  /** Tombstones too, by the statistics of the database; undefined where it does not say. */
  readonly entities: number | undefined
}

export async function lookAtShards({ store, signal }: Session): Promise<readonly ShardLook[]> {
  const { driver } = (await store({ warn: false })).context
  return Promise.all(driver.shards.map((shard) => lookAtShard(shard, signal)))
}

async function lookAtShard(shard: Shard, signal: AbortSignal): Promise<ShardLook> {
  const { name } = shard
  try {
    const asked = performance.now()
    await shard.now({ signal })
    const answersInMs = performance.now() - asked
    const sizes = await shard.sizes?.({ signal })
    return { name, answersInMs, error: undefined, entities: sizes?.entities }
  } catch (error) {
    if (!isLooseleafError(error) || error.code === 'ABORTED') throw error
    return { name, answersInMs: undefined, error, entities: undefined }
  }
}
