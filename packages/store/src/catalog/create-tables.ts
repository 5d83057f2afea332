import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { hasIndexTable, tableSpec } from '@looseleaf/index-engine/internal'

/*
 * Databases reject `CREATE TABLE IF NOT EXISTS` for a user without the privilege, even if the table exists. For such a user these functions
 * look whether an administrator has made the tables with the statements of `looseleaf schema`.
 */

/** Creates the missing tables of a shard, other than those of indexes. */
export async function createTables(shard: Shard, options?: CallOptions): Promise<void> {
  await unlessPresent(shard.createTables(options), async () => {
    const looks = [
      shard.entities.pageByAdded(0, 1, { ...options, maxBody: 0 }),
      shard.tasks.load('', options),
      shard.pending.tables(options),
      shard.codecEntries.read([''], options),
    ]
    // Writing the catalog later fails if its table is missing.
    const answers = await Promise.allSettled(looks)
    return answers.every(({ status }) => status === 'fulfilled')
  })
}

export async function createIndexTable(
  shard: Shard,
  entry: CatalogEntry,
  options?: CallOptions,
): Promise<void> {
  await unlessPresent(shard.createIndexTable(tableSpec(entry), options), () =>
    hasIndexTable(shard, entry, options),
  )
}

async function unlessPresent(creation: Promise<void>, isPresent: () => Promise<boolean>): Promise<void> {
  try {
    await creation
  } catch (error) {
    if (!isLooseleafError(error, 'SHARD_DENIED') || !(await isPresent())) throw error
  }
}
