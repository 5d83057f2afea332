import type { Pool } from 'mysql2/promise'
import type { KeyValue } from '../workload/indexes.ts'
import type { TableRows } from './table-rows.ts'

/** Inserts by one statement per table and shard. Index rows go first: an entity must not be readable before its rows. */
export async function insertRowsOf(pools: readonly Pool[], all: readonly TableRows[]): Promise<void> {
  const insert = ({ shard, table, columns, rows }: TableRows): Promise<unknown> => {
    const updated = table === 'entities' ? [new Date()] : []
    const names = table === 'entities' ? [...columns, 'updated'] : columns
    return (pools[shard] as Pool).query(`INSERT INTO ${table} (${names.join(', ')}) VALUES ?`, [
      rows.map((row) => [...row.map(toBuffer), ...updated]),
    ])
  }
  await Promise.all(all.filter(({ table }) => table !== 'entities').map(insert))
  await Promise.all(all.filter(({ table }) => table === 'entities').map(insert))
}

/** The driver would escape a plain Uint8Array as an array of numbers. */
const toBuffer = (value: KeyValue): Buffer | number =>
  typeof value === 'number' ? value : Buffer.from(value.buffer, value.byteOffset, value.length)
