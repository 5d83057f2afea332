import { randomBytes } from 'node:crypto'
import type { Shard } from '@looseleaf/core'
import type { IndexScan, IndexTable, IndexTableSpec } from '@looseleaf/core/internal'
import { kyselyShard } from '@looseleaf/driver-kysely'
import Database from 'better-sqlite3'
import { beforeAll, expect, test } from 'vitest'
import { sqliteDialect } from './dialect.ts'
import { sqliteFlavor } from './flavor.ts'

/** The first column is descending, the next one ascending. */
const spec: IndexTableSpec = {
  table: 'index_mixed',
  columns: [
    { name: 'user', type: 'integer' },
    { name: 'score', type: 'integer', order: 'desc' },
    { name: 'published', type: 'time' },
  ],
}

const database = new Database(':memory:')
const sent: string[] = []
let shard: Shard
let index: IndexTable

beforeAll(async () => {
  const prepare = database.prepare.bind(database)
  database.prepare = ((text: string) => {
    sent.push(text)
    return prepare(text)
  }) as typeof database.prepare
  shard = kyselyShard({
    name: 'memory',
    dialect: sqliteDialect({ database, deadlineMs: 1_000 }),
    flavor: sqliteFlavor,
  })
  await shard.createTables()
  await shard.createIndexTable(spec)
  index = shard.index(spec)
  return () => database.close()
})

/** Returns SQLite's plan of the scan, a line per step, without the steps that combine its parts. */
const planOf = (scan: Omit<IndexScan, 'limit'>): Promise<readonly string[]> =>
  planOfSent(() => index.scan({ ...scan, limit: 20 }))

/** Returns the plan of the only statement that is sent. */
async function planOfSent(act: () => Promise<unknown>): Promise<readonly string[]> {
  sent.length = 0
  await act()
  expect(sent).toHaveLength(1)
  const statement = database.prepare(`EXPLAIN QUERY PLAN ${sent[0]}`)
  const parameters = Array.from({ length: (sent[0] ?? '').split('?').length - 1 }, () => 1)
  const lines = (statement.all(...parameters) as { detail: string }[]).map(({ detail }) => detail)
  return lines.filter((line) => /^(SEARCH|SCAN index|USE TEMP)/.test(line))
}

const after = { key: [1n, 5n, 7n], entityId: randomBytes(16) }

test('the primary key has the directions of its columns', () => {
  expect(shard.schema([spec]).join('\n')).toContain(
    'PRIMARY KEY ("user", "score" DESC, "published", "entity_id")',
  )
})

test.each(['asc', 'desc'] as const)(
  'a scan of two directions reads its range and sorts nothing, %s',
  async (order) => {
    expect(await planOf({ prefix: [1n], order })).toEqual(['SEARCH index_mixed USING PRIMARY KEY (user=?)'])
  },
)

test.each([
  ['asc', '<', '>'],
  ['desc', '>', '<'],
] as const)(
  'a scan after a place among equal scores reads the rest of these, then the next scores, %s',
  async (order, nextScore, nextTime) => {
    const plan = await planOf({ prefix: [1n], after, order })
    expect(plan.filter((line) => line.startsWith('S'))).toEqual([
      `SEARCH index_mixed USING PRIMARY KEY (user=? AND score=? AND (published,entity_id)${nextTime}(?,?))`,
      `SEARCH index_mixed USING PRIMARY KEY (user=? AND score${nextScore}?)`,
    ])
  },
)

test.each([
  ['asc', '>'],
  ['desc', '<'],
] as const)('a scan after a place, by columns of one direction, is one search, %s', async (order, way) => {
  expect(await planOf({ prefix: [1n, 5n], after, order })).toEqual([
    `SEARCH index_mixed USING PRIMARY KEY (user=? AND score=? AND (published,entity_id)${way}(?,?))`,
  ])
})

test('each of many scans reads its range', async () => {
  const scans = Array.from({ length: 16 }, (_, n): IndexScan => ({
    prefix: [BigInt(n)],
    order: 'desc',
    limit: 3,
  }))
  const plan = await planOfSent(() => index.scanMany(scans))
  expect(plan).toEqual(Array.from({ length: 16 }, () => 'SEARCH index_mixed USING PRIMARY KEY (user=?)'))
})

test('each of many scans with entities reads its range, and the entities by their ids', async () => {
  const scans = Array.from({ length: 16 }, (_, n): IndexScan => ({
    prefix: [BigInt(n)],
    order: 'desc',
    limit: 3,
  }))
  const expected = [
    'SEARCH x USING PRIMARY KEY (user=?)',
    expect.stringMatching(/^SEARCH e USING INDEX .* \(id=\?\)/),
  ]
  const plans = [
    await planOfSent(() => index.scanEntities([{ ...scans[0]!, maxBody: 9 }])),
    await planOfSent(() => index.scanVersions(scans)),
    await planOfSent(() => index.scanEntities(scans.map((scan) => ({ ...scan, maxBody: 9 })))),
  ]
  expect(plans).toEqual([1, 16, 16].map((parts) => Array.from({ length: parts }, () => expected).flat()))
})

test('many scans are statements of 16 parts, since prepared ones take memory by the square of their parts', async () => {
  const scans = Array.from({ length: 128 }, (_, n): IndexScan => ({
    prefix: [BigInt(n)],
    after,
    order: 'desc',
    limit: 3,
  }))
  sent.length = 0
  await index.scanMany(scans)
  // All scans have the same text, which is prepared once.
  expect(sent).toEqual([expect.stringContaining('SELECT 15, part')])
  expect(sent[0]).not.toContain('SELECT 16, part')
})

test('each of many counts reads its range', async () => {
  const ranges = Array.from({ length: 16 }, (_, n) => ({ prefix: [BigInt(n)] }))
  const plan = await planOfSent(() => index.countMany(ranges))
  expect(plan.filter((line) => line.startsWith('S'))).toEqual(
    Array.from({ length: 16 }, () => 'SEARCH index_mixed USING PRIMARY KEY (user=?)'),
  )
})

test('each of many short counts reads its range', async () => {
  const ranges = Array.from({ length: 16 }, (_, n) => ({ prefix: [BigInt(n)] }))
  const plan = await planOfSent(() => index.countShort(ranges, 100))
  expect(plan.filter((line) => line.includes('index_mixed'))).toEqual(
    Array.from({ length: 16 }, () => 'SEARCH index_mixed USING PRIMARY KEY (user=?)'),
  )
})
