import {
  isLooseleafError,
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type Shard,
} from '@looseleaf/core'
import { hasIndexTable } from '@looseleaf/index-engine'

/*
 * A change of the indexes goes in steps, and one that is stopped half way for want of a right leaves an index that no
 * query may use. So rights are tried first, by statements that change nothing for whoever has them.
 */

/** The names of tables that are not of an index begin like this, and none is ever called so. */
const NO_TABLE = 'looseleaf_no_table'

/** Throws `SHARD_DENIED` where a shard's user may not drop tables. */
export async function requireMayDrop(shards: readonly Shard[], options: CallOptions): Promise<void> {
  await Promise.all(
    shards.map(async (shard) => {
      await naming('drop', shard, shard.dropIndexTable({ table: NO_TABLE, columns: [] }, options))
    }),
  )
}

/** Throws `SHARD_DENIED` where a shard's user may not create tables, unless those to come were made by hand. */
export async function requireMayCreate(
  shards: readonly Shard[],
  coming: readonly CatalogEntry[],
  options: CallOptions,
): Promise<void> {
  await Promise.all(
    shards.map(async (shard) => {
      try {
        // All of these are there: a user without the right is refused all the same.
        await naming('create', shard, shard.createTables(options))
      } catch (error) {
        if (!isLooseleafError(error, 'SHARD_DENIED')) throw error
        for (const entry of coming) if (!(await hasIndexTable(shard, entry, options))) throw error
      }
    }),
  )
}

async function naming(right: 'create' | 'drop', shard: Shard, tried: Promise<void>): Promise<void> {
  try {
    await tried
  } catch (cause) {
    if (!isLooseleafError(cause, 'SHARD_DENIED')) throw cause
    throw new LooseleafError(
      'SHARD_DENIED',
      `${shard.name}: this change of the indexes needs the right to ${right} tables (${right.toUpperCase()} on the whole database), which the user does not have. Nothing was changed.`,
      { shard: shard.name, cause },
    )
  }
}
