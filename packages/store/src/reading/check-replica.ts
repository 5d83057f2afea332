import { isError, type CallOptions, type Shard } from '@looseleaf/core'
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
  const { storeId } = catalog.current()
  if (own?.storeId === storeId && own.shardNumber === number) return
  const found =
    own === undefined
      ? 'it has no store'
      : own.storeId === storeId
        ? `it has shard ${own.shardNumber} of this store`
        : 'it has a shard of another store'
  throw new Error(`It is no replica of shard ${number}: ${found}.`)
}

/** What is told of a replica that has failed. */
export function reasonOf(error: unknown): string {
  return isError(error) ? error.message : 'It has failed.'
}
