import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'

/**
 * Tells whether a shard has entities or tombstones. A shard without tables has none, and so has one with a table of another program: both
 * are `NOT_MIGRATED`. So compare the tables first, see `checkTables`.
 */
export async function holdsEntities(shard: Shard, options?: CallOptions): Promise<boolean> {
  try {
    return (await shard.entities.pageByAdded(0, 1, { ...options, maxBody: 0 })).length > 0
  } catch (error) {
    if (isLooseleafError(error, 'NOT_MIGRATED')) return false
    throw error
  }
}
