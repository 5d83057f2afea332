import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Shard } from '@looseleaf/core'
import { kyselyShard } from '@looseleaf/driver-kysely'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteDialect } from './dialect.ts'
import { sqliteFlavor } from './flavor.ts'

const spec = {
  table: 'ix',
  columns: [
    { name: 'a', type: 'integer' },
    { name: 'b', type: 'integer' },
  ],
} as const

/** A shard, its database, and the statements that reached it. */
async function openShard(): Promise<{ shard: Shard; database: Database.Database; came: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-sqlite-'))
  const came: string[] = []
  const database = new Database(join(folder, 'shard.sqlite'), { verbose: (text) => came.push(String(text)) })
  onTestFinished(async () => {
    database.close()
    await rm(folder, { recursive: true })
  })
  const shard = kyselyShard({
    name: 'shard',
    dialect: sqliteDialect({ database, deadlineMs: 1_000 }),
    flavor: sqliteFlavor,
  })
  await shard.createTables()
  await shard.createIndexTable(spec)
  came.length = 0
  return { shard, database, came }
}

test('tables are STRICT, and tables with a key of their own are WITHOUT ROWID', async () => {
  const { database } = await openShard()
  const tables = database
    .prepare(
      "SELECT name, strict, wr AS keyed FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'",
    )
    .all() as { readonly name: string }[]
  expect(tables.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: 'entities', strict: 1, keyed: 0 },
    { name: 'ix', strict: 1, keyed: 1 },
    { name: 'looseleaf_codec', strict: 1, keyed: 1 },
    { name: 'looseleaf_meta', strict: 1, keyed: 1 },
    { name: 'looseleaf_pending', strict: 1, keyed: 1 },
    { name: 'looseleaf_tasks', strict: 1, keyed: 1 },
  ])
})

test('a flush writes nothing, since a visible commit is on disk', async () => {
  const { shard, came } = await openShard()
  await shard.flush()
  expect(came).toEqual([])
})

test('rows after a place are found by all of its columns', async () => {
  const { shard, database, came } = await openShard()
  const after = { key: [1, 2], entityId: Buffer.alloc(16) }
  await shard.index(spec).scan({ prefix: [], after, order: 'asc', limit: 9 })
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${came[0]}`).all()
  expect(plan).toEqual([
    expect.objectContaining({ detail: expect.stringMatching(/^SEARCH ix.*a,b,entity_id/) }),
  ])
})
