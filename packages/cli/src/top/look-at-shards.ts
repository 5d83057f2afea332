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
  const asked = performance.now()
  const failure = await shard.now({ signal }).then(() => undefined, errorOfShard)
  const answersInMs = failure === undefined ? performance.now() - asked : undefined
  // It may answer, and refuse this.
  const sizes = failure ?? (await shard.sizes?.({ signal }).catch(errorOfShard))
  const isKnown = sizes !== undefined && !isLooseleafError(sizes)
  return { name, answersInMs, error: failure, entities: isKnown ? sizes.entities : undefined }
}

/** What a shard has failed with; throws what is nobody's fault but the program's, and the end of the command. */
function errorOfShard(error: unknown): LooseleafError {
  if (!isLooseleafError(error) || error.code === 'ABORTED') throw error
  return error
}
