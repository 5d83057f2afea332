import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'

/**
 * Tells whether a shard has entities or tombstones. A shard without tables has none, and so has one with a table of another program: both
 * are `NOT_MIGRATED`. So compare the tables first, see `checkTables`.
 */
export async function holdsEntities(shard: Shard, options?: CallOptions): Promise<boolean> {
  return (await hasRow(shard, options)) === true
}

/** Tells whether a shard has its table of entities, which may be empty. */
export async function hasEntityTable(shard: Shard): Promise<boolean> {
  return (await hasRow(shard)) !== undefined
}

/** Tells whether the table of entities has a row; undefined if it is missing. */
async function hasRow(shard: Shard, options?: CallOptions): Promise<boolean | undefined> {
  try {
    return (await shard.entities.pageByAdded(0, 1, { ...options, maxBody: 0 })).length > 0
  } catch (error) {
    if (isLooseleafError(error, 'NOT_MIGRATED')) return undefined
    throw error
  }
}
