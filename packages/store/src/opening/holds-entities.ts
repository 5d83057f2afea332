import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'

/** Tells whether a shard has entities or tombstones. A shard without tables has none. */
export async function holdsEntities(shard: Shard, options?: CallOptions): Promise<boolean> {
  try {
    return (await shard.entities.pageByAdded(0, 1, { ...options, maxBody: 0 })).length > 0
  } catch (error) {
    if (isLooseleafError(error, 'NOT_MIGRATED')) return false
    throw error
  }
}
