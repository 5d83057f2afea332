import type { CallOptions, Shard } from '@looseleaf/core'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine'

export const LATE = 'It does not answer in time.'
export const AHEAD = 'It is ahead of its primary, as after a failover that has lost writes.'

/** Throws unless the replica is one of this shard, whose user may read it. */
export async function checkReplica(
  replica: Shard,
  { catalog }: Pick<EngineContext, 'catalog'>,
  number: number,
  options: CallOptions,
): Promise<void> {
  const own = await loadShardCatalog(replica, options)
  if (own?.storeId !== catalog.current().storeId || own.shardNumber !== number)
    throw new Error('It is no replica of this shard.')
}

/** What is told of a replica that has failed. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'It has failed.'
}
