import type { CallOptions, Shard } from '@looseleaf/core'
import { isError } from '@looseleaf/core/internal'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine/internal'

export const LATE = 'It does not answer in time.'
export const AHEAD = 'It is ahead of its primary, as after a failover that has lost writes.'

/** Throws unless the replica is one of this shard and its user may read it. */
export async function checkReplica(
  replica: Shard,
  { catalog }: Pick<EngineContext, 'catalog'>,
  number: number,
  options: CallOptions,
): Promise<void> {
  const loaded = await loadShardCatalog(replica, options)
  const { storeId } = catalog.current()
  if (loaded?.storeId === storeId && loaded.shardNumber === number) return
  const found =
    loaded === undefined
      ? 'it has no store'
      : loaded.storeId === storeId
        ? `it has shard ${loaded.shardNumber} of this store`
        : 'it has a shard of another store'
  throw new Error(`It is no replica of shard ${number}: ${found}.`)
}

/** Returns the message of a replica's failure. */
export function reasonOf(error: unknown): string {
  return isError(error) ? error.message : 'It has failed.'
}
