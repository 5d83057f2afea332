import { isLooseleafError, LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { hasIndexTable } from '@looseleaf/index-engine/internal'

/*
 * A change of the indexes has several steps. Without a right it would stop half way, and leave an index that no query may use. So rights
 * are tried first, by statements that change nothing.
 */

/** A table that never exists: names of tables that are not of indexes have this prefix. */
const NO_TABLE = 'looseleaf_no_table'

/** Throws `SHARD_DENIED` if a shard's user may not drop tables. */
export async function requireMayDrop(shards: readonly Shard[], options: CallOptions): Promise<void> {
  await Promise.all(
    shards.map(async (shard) => {
      await naming('drop', shard, shard.dropIndexTable({ table: NO_TABLE, columns: [] }, options))
    }),
  )
}

/** Throws `SHARD_DENIED` if a shard's user may not create tables, unless the tables of `coming` were made by hand. */
export async function requireMayCreate(
  shards: readonly Shard[],
  coming: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  await Promise.all(
    shards.map(async (shard) => {
      try {
        // These tables exist already. A user without the right is rejected even so.
        await naming('create', shard, shard.createTables(options))
      } catch (error) {
        if (!isLooseleafError(error, 'SHARD_DENIED')) throw error
        for (const entry of coming) if (!(await hasIndexTable(shard, entry, options))) throw error
      }
    }),
  )
}

/** Explains which right is missing if the statement was denied. */
async function naming(right: 'create' | 'drop', shard: Shard, statement: Promise<void>): Promise<void> {
  try {
    await statement
  } catch (cause) {
    if (!isLooseleafError(cause, 'SHARD_DENIED')) throw cause
    throw new LooseleafError(
      'SHARD_DENIED',
      `${shard.name}: this change of the indexes needs the right to ${right} tables (${right.toUpperCase()} on the whole database), which the user does not have. Nothing was changed.`,
      { shard: shard.name, cause },
    )
  }
}
