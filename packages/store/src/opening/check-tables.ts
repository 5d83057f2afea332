import type { CallOptions, Shard } from '@looseleaf/core'
import type { CatalogEntry, TableCheck } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { refuse } from './check-shard.ts'

/*
 * `CREATE TABLE IF NOT EXISTS` compares names only. A table of another program under a name of the store's would stay, and each call of
 * the shard would fail, so the columns are compared before the first table is created.
 */

/** Index tables of a store, whose states do not matter. */
type Indexes = readonly Omit<CatalogEntry, 'state'>[]

/** Compares the tables of a database with those of a store that has these indexes. */
export async function checkTables(
  shard: Shard,
  indexes: Indexes,
  options?: CallOptions,
): Promise<TableCheck> {
  const specs = indexes.map((entry) => tableSpec(entry))
  return (await shard.checkTables?.(specs, options)) ?? { missing: [], foreign: [] }
}

/** Describes each table of another program, as the end of a sentence. */
export function foreignTexts({ foreign }: TableCheck, indexes: Indexes): readonly string[] {
  return foreign.map(({ name, found, expected }) => {
    const left = indexes.some(({ table }) => table === name)
      ? ', or was left by an earlier attempt to create an index of this name with another definition'
      : ''
    return `the table ${name} is not one of Looseleaf${left}: it has the columns ${found}, and Looseleaf needs ${expected}`
  })
}

/** Throws `LAYOUT_MISMATCH` if a database without a catalog has tables of another program under names of the store's. Changes nothing. */
export async function requireOwnTables(shard: Shard, indexes: Indexes): Promise<void> {
  const texts = foreignTexts(await checkTables(shard, indexes), indexes)
  if (texts.length === 0) return
  refuse(
    shard,
    `${texts.join('; ')}. No table was created. Rename such tables, or give a database of its own.`,
  )
}
