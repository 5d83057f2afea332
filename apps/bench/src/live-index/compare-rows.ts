import { createConnection } from 'mysql2/promise'
import { formatId, msgpackZlibCodec, type Bag } from 'looseleaf'
import { expectedKeys } from './posts.ts'

export interface ComparedTable {
  readonly rows: number
  /** Rows that an entity should have and no shard holds. */
  readonly missing: number
  /** Rows that match no entity, and second copies of a row on another shard. */
  readonly extra: number
}

/** Compares every row of every added index, on all shards, with every entity. It reads by plain SQL and not through the store. */
export async function compareRows(urls: readonly string[]): Promise<Record<string, ComparedTable>> {
  const codec = msgpackZlibCodec()
  const tables = Object.entries(expectedKeys)
  const expected = new Map<string, Set<string>>(tables.map(([table]) => [table, new Set()]))
  await readAll(urls, 'SELECT id, body FROM entities WHERE body IS NOT NULL', (row) => {
    const bag: Bag = codec.decode(row['body'] as Buffer)
    const id = formatId(row['id'] as Buffer)
    for (const [table, { keys }] of tables)
      for (const key of keys(bag)) expected.get(table)?.add(`${key} ${id}`)
  })
  const compared: Record<string, ComparedTable> = {}
  for (const [table, { column }] of tables) {
    const missing = expected.get(table) ?? new Set()
    let [rows, extra] = [0, 0]
    await readAll(urls, `SELECT ${column} AS value, entity_id FROM ${table}`, (row) => {
      rows++
      if (!missing.delete(`${String(row['value'])} ${formatId(row['entity_id'] as Buffer)}`)) extra++
    })
    compared[table] = { rows, missing: missing.size, extra }
    expected.delete(table)
  }
  return compared
}

async function readAll(
  urls: readonly string[],
  sql: string,
  onRow: (row: Record<string, unknown>) => void,
): Promise<void> {
  for (const uri of urls) {
    const connection = await createConnection({ uri })
    try {
      // Only the callback client streams rows; the promise client wraps it.
      const rows = (connection as unknown as { connection: StreamingConnection }).connection
        .query(sql)
        .stream()
      for await (const row of rows) onRow(row as Record<string, unknown>)
    } finally {
      await connection.end()
    }
  }
}

interface StreamingConnection {
  query(sql: string): { stream(): AsyncIterable<unknown> }
}
