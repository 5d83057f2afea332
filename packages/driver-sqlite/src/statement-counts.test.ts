import { randomBytes } from 'node:crypto'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import { kyselyShard } from '@looseleaf/driver-kysely'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteDialect } from './dialect.ts'
import { sqliteFlavor } from './flavor.ts'

/** Number of answered statements. */
let statements = 0

async function openShard() {
  const database = new Database(':memory:', { verbose: () => statements++ })
  onTestFinished(() => void database.close())
  const dialect = sqliteDialect({ database, deadlineMs: 1_000 })
  const shard = kyselyShard({ name: 'memory', dialect, flavor: sqliteFlavor })
  await shard.createTables()
  return shard
}

/** Returns the number of statements of some work. */
async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  statements = 0
  await work()
  return statements
}

const tables = Array.from({ length: 50 }, (_, i): IndexTableSpec => ({
  table: `index_t${i}`,
  columns: [{ name: `c${i}`, type: 'integer' }],
}))

test('the rows of a few entities in 50 index tables take two statements, and those of 512 thirteen', async () => {
  const shard = await openShard()
  for (const spec of tables) await shard.createIndexTable(spec)
  const ids = Array.from({ length: 512 }, () => randomBytes(16))
  expect(await statementsOf(() => shard.rowsOf(tables, ids.slice(0, 8)))).toBe(2)
  expect(await statementsOf(() => shard.rowsOf(tables, ids))).toBe(13)
})

test('claiming, saving and reading 50 tasks takes as many statements as one task', async () => {
  const shard = await openShard()
  const names = tables.map(({ table }) => table)
  const counts: number[][] = []
  for (const some of [names.slice(0, 1), names]) {
    counts.push([
      await statementsOf(() => shard.tasks.claimAll(some, 'me', 1_000)),
      await statementsOf(() => shard.tasks.saveAll(new Map(some.map((name) => [name, 'x'])), 'me', 1_000)),
      await statementsOf(() => shard.tasks.loadAll(some)),
    ])
  }
  // A missing task takes an update without rows, a read, an insert and a read.
  expect(counts).toEqual([
    [4, 1, 1],
    [4, 1, 1],
  ])
})
