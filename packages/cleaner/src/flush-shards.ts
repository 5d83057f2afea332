import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from './index-target.ts'

/** What was read on these shards before survives a crash of their servers when this resolves. */
export async function flushShards(
  context: EngineContext,
  shards: Iterable<number>,
  signal: AbortSignal | undefined,
): Promise<void> {
  await Promise.all(Array.from(new Set(shards), (shard) => shardAt(context, shard).flush({ signal })))
}
