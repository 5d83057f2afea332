import type { CallOptions } from '@looseleaf/core'
import { isOfShard } from '@looseleaf/core/internal'
import { presentShards } from '@looseleaf/index-engine/internal'
import type { AnyStore } from '@looseleaf/protocol/internal'
import { loadWitnesses } from './witness-record.ts'
import { cleanableIndexes } from '../pass/index-target.ts'

/** An index table that a cleaner found emptied, as by TRUNCATE. */
export interface EmptiedTable {
  readonly index: string
  readonly generation: number
  /** Set for the claims of a unique index. */
  readonly unique?: true
  readonly shard: string
  readonly foundAt: Date
  /** True once the index was filled again. */
  readonly isFilled: boolean
}

/** Returns the index tables that cleaners found emptied, as long as their indexes are in use. Skips shards that do not answer. */
export async function readEmptiedTables(
  store: AnyStore,
  options: CallOptions = {},
): Promise<readonly EmptiedTable[]> {
  const { context } = store
  const entries = cleanableIndexes(context)
  const tables = entries.map(({ table }) => table)
  const byShard = await Promise.all(
    presentShards(context.driver).map(async (shard) => {
      const records = await loadWitnesses(shard, tables, options).catch((error: unknown) => {
        if (!isOfShard(error)) throw error
        return new Map<string, { readonly lostAt: number }>()
      })
      return entries.flatMap(({ table, name, generation, unique, state }): EmptiedTable[] => {
        const { lostAt = 0 } = records.get(table) ?? {}
        const found = { index: name, generation, ...(unique && { unique }), shard: shard.name }
        return lostAt === 0 ? [] : [{ ...found, foundAt: new Date(lostAt), isFilled: state === 'ready' }]
      })
    }),
  )
  return byShard.flat()
}
