import { isLooseleafError, type CallOptions, type CatalogEntry, type Shard } from '@looseleaf/core'
import { hasIndexTable, tableSpec } from '@looseleaf/index-engine'

/*
 * Databases refuse to create a table "if it does not exist" to a user without the privilege, also where it exists. So one
 * who may not create tables finds those that somebody has made by hand with the statements of `looseleaf schema`.
 */

/** Creates the entity, catalog, task, pending and definition tables of a shard where they are missing, and the columns of the catalog table. */
export async function createTables(shard: Shard, options?: CallOptions): Promise<void> {
  await unlessThere(shard.createTables(options), async () => {
    const looks = [
      shard.entities.pageByAdded(0, 1, { ...options, maxBody: 0 }),
      shard.tasks.load('', options),
      shard.pending.tables(options),
      shard.definitions.read([''], options),
      // The catalog table of an earlier version lacks columns.
      shard.catalog.load(options).then((catalog) => catalog && shard.entities.floor(options)),
    ]
    // A missing catalog table shows when the catalog is written.
    const answers = await Promise.allSettled(looks)
    return answers.every(({ status }) => status === 'fulfilled')
  })
}

/** Creates the table of an index on a shard where it is missing. */
export async function createIndexTable(
  shard: Shard,
  entry: CatalogEntry,
  options?: CallOptions,
): Promise<void> {
  await unlessThere(shard.createIndexTable(tableSpec(entry), options), () =>
    hasIndexTable(shard, entry, options),
  )
}

async function unlessThere(creation: Promise<void>, isThere: () => Promise<boolean>): Promise<void> {
  try {
    await creation
  } catch (error) {
    if (!isLooseleafError(error, 'SHARD_DENIED') || !(await isThere())) throw error
  }
}
