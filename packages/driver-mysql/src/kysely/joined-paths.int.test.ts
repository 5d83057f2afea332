import { randomBytes } from 'node:crypto'
import type { EntityScan, IndexTable, IndexTableSpec, Key, KeyRange } from '@looseleaf/core/internal'
import type { RowDataPacket } from 'mysql2/promise'
import { beforeAll, describe, expect, test } from 'vitest'
import { startOwnServer } from '../../test/own-server.ts'

const USERS = 40
const LIMIT = 21
const epoch = 1

/** Numbers of entities and of index rows, and the share of the rows that the first user has. */
interface Fill {
  readonly entities: number
  readonly rows: number
  readonly skew?: number
  /** True if the statistics of the tables are of a time when they were empty. */
  readonly isStale?: boolean
}

const { shard, counter } = await startOwnServer()

describe.each<[name: string, fill: Fill]>([
  ['empty tables', { entities: 0, rows: 0 }],
  ['few entities and few rows', { entities: 5, rows: 5 }],
  ['few entities and many rows of other shards', { entities: 30, rows: 4_000 }],
  ['many entities and few rows', { entities: 4_000, rows: 50 }],
  ['large tables', { entities: 4_000, rows: 4_000 }],
  ['most rows of one user', { entities: 4_000, rows: 4_000, skew: 0.95 }],
  ['statistics of empty tables', { entities: 4_000, rows: 4_000, isStale: true }],
])('with %s', (name, { entities: count, rows, skew = 0, isStale = false }) => {
  const spec: IndexTableSpec = {
    table: `ix_${name.replaceAll(' ', '_')}`,
    columns: [
      { name: 'user', type: 'string' },
      { name: 'published', type: 'integer' },
    ],
  }
  let index: IndexTable
  let all: { readonly key: Key; readonly entityId: Uint8Array; readonly version: number }[]

  beforeAll(async () => {
    await shard.createIndexTable(spec)
    index = shard.index(spec)
    await counter.query('TRUNCATE TABLE entities')
    all = Array.from({ length: rows }, (_, i) => ({
      key: [Buffer.from(`user ${i < rows * skew ? 0 : i % USERS}`), i] as Key,
      entityId: randomBytes(16),
      version: 1,
    }))
    const ids = Array.from({ length: count }, (_, i) => all[i]?.entityId ?? randomBytes(16))
    for (let from = 0; from < count; from += 250) {
      const chunk = ids.slice(from, from + 250)
      await shard.entities.insert(
        chunk.map((id) => ({ id, version: 1, body: randomBytes(200) })),
        { epoch },
      )
    }
    for (let from = 0; from < rows; from += 250) await index.upsert(all.slice(from, from + 250))
    await counter.query(`ANALYZE TABLE entities, ${spec.table}`)
    if (isStale) await forgetStatistics('entities', spec.table)
  })

  const ofUser = (user: number, more: Partial<EntityScan> = {}): EntityScan => ({
    prefix: [Buffer.from(`user ${user}`)],
    order: 'desc',
    limit: LIMIT,
    maxBody: 100_000,
    ...more,
  })
  const everyUser = (more: Partial<EntityScan> = {}): EntityScan[] =>
    Array.from({ length: USERS }, (_, user) => ofUser(user, more))
  /** Scans behind the middle row of some users. */
  const behind = (order: 'asc' | 'desc', users: number): EntityScan[] =>
    Array.from({ length: users }, (_, user) => {
      const own = Buffer.from(`user ${user}`)
      const rowsOfUser = all.filter(({ key }) => own.equals(key[0] as Uint8Array))
      const after = rowsOfUser[rowsOfUser.length >> 1] ?? { key: [own, 1], entityId: randomBytes(16) }
      return ofUser(user, { order, after })
    })

  test.each<[scans: string, make: () => readonly EntityScan[]]>([
    ['the last rows of a user', () => [ofUser(7)]],
    ['the first rows of the first user', () => [ofUser(0, { order: 'asc' })]],
    ['rows of any user', () => [{ prefix: [], order: 'asc', limit: LIMIT, maxBody: 100_000 }]],
    ['rows of one user behind one of them', () => behind('desc', 1)],
    ['the last rows of 40 users', () => everyUser()],
    ['the first rows of 40 users', () => everyUser({ order: 'asc', limit: 3 })],
    ['rows of 40 users behind one of them', () => behind('asc', USERS)],
  ])('the server reads few rows for entities and versions of %s', async (_, make) => {
    const scans = make()
    const limit = scans.reduce((sum, scan) => sum + scan.limit, 0)
    await expectFewRows(limit, () => index.scanEntities(scans))
    await expectFewRows(limit, () => index.scanVersions(scans))
  })

  test.each<[ranges: string, make: () => readonly KeyRange[]]>([
    ['one user', () => [ofUser(0)]],
    ['any user', () => [{ prefix: [] }]],
    ['40 users', () => everyUser()],
  ])('the server reads few rows for short counts of %s', async (_, make) => {
    const ranges = make().map(({ prefix }) => ({ prefix }))
    await expectFewRows(LIMIT * ranges.length, () => index.countShort(ranges, LIMIT - 1))
  })
})

/** Gives tables the statistics of empty ones, as they have after they were filled fast. */
async function forgetStatistics(...tables: readonly string[]): Promise<void> {
  await counter.query(
    'UPDATE mysql.innodb_table_stats SET n_rows = 0, clustered_index_size = 1 WHERE table_name IN (?)',
    [tables],
  )
  await counter.query(
    'UPDATE mysql.innodb_index_stats SET stat_value = 0 WHERE table_name IN (?) AND stat_name LIKE ?',
    [tables, 'n_diff%'],
  )
  await counter.query('FLUSH TABLES')
}

/** Rows that the server has read so far, with those of its internal tables. */
async function rowsRead(): Promise<number> {
  const [rows] = await counter.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Handler\\_read%'")
  return rows.reduce((sum, row) => sum + Number(row['Value']), 0)
}

async function expectFewRows(limit: number, act: () => Promise<unknown>): Promise<void> {
  const before = await rowsRead()
  const between = await rowsRead()
  await act()
  const read = (await rowsRead()) - between - (between - before)
  // A row, its entity, and a copy of both in the table of a UNION; a part begins with two.
  expect(read).toBeLessThanOrEqual(4 * limit + 100)
}
