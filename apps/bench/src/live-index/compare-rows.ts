import { createConnection } from 'mysql2/promise'
import { formatId, msgpackZlibCodec, type Bag } from 'looseleaf'
import { expectedKeys } from './posts.ts'

export interface ComparedTable {
  readonly rows: number
  /** Rows that an entity needs and no shard has. */
  readonly missing: number
  /** Rows that belong to no entity, or stand on two shards. */
  readonly extra: number
}

/** Every row of every added index, on all shards, held against every entity: past the store, by plain SQL. */
export async function compareRows(urls: readonly string[]): Promise<Record<string, ComparedTable>> {
  const codec = msgpackZlibCodec()
  const tables = Object.entries(expectedKeys)
  const wanted = new Map<string, Set<string>>(tables.map(([table]) => [table, new Set()]))
  await readAll(urls, 'SELECT id, body FROM entities WHERE body IS NOT NULL', (row) => {
    const bag: Bag = codec.decode(row['body'] as Buffer)
    const id = formatId(row['id'] as Buffer)
    for (const [table, { keys }] of tables)
      for (const key of keys(bag)) wanted.get(table)?.add(`${key} ${id}`)
  })
  const compared: Record<string, ComparedTable> = {}
  for (const [table, { column }] of tables) {
    const missing = wanted.get(table) ?? new Set()
    let [rows, extra] = [0, 0]
    await readAll(urls, `SELECT ${column} AS value, entity_id FROM ${table}`, (row) => {
      rows++
      if (!missing.delete(`${String(row['value'])} ${formatId(row['entity_id'] as Buffer)}`)) extra++
    })
    compared[table] = { rows, missing: missing.size, extra }
    wanted.delete(table)
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
      // The stream of rows is of the client without promises, which this one wraps.
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
