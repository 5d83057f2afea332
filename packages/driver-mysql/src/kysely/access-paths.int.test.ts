import { randomBytes } from 'node:crypto'
import type { ClaimTable, IndexTable, Key } from '@looseleaf/core/internal'
import type { RowDataPacket } from 'mysql2/promise'
import { beforeAll, expect, test } from 'vitest'
import { startOwnServer } from '../../test/own-server.ts'

/** Many more rows than any statement here needs, so that a scan of the table shows in the count. */
const ENTITIES = 2_000
const USERS = 20
const ROWS = 50

const spec = {
  table: 'ix_user',
  columns: [
    { name: 'user', type: 'string' },
    { name: 'number', type: 'integer' },
  ],
} as const

const unique = { ...spec, table: 'ix_claims', unique: true } as const

/** Its first column is descending and has two values; the next one is ascending. */
const mixed = {
  table: 'ix_mixed',
  columns: [
    { name: 'half', type: 'integer', order: 'desc' },
    { name: 'number', type: 'integer' },
  ],
} as const

const epoch = 1
const entities = Array.from({ length: ENTITIES }, (_, number) => ({
  id: randomBytes(16),
  version: 1,
  body: randomBytes(200),
  key: [Buffer.from(`user ${number % USERS}`), number] as Key,
}))
const some = entities.slice(700, 700 + ROWS)
const halfOf = (key: Key): Key => [BigInt(Number(key[1]) % 2), BigInt(Number(key[1]))]
/** Half of the ids are lower, half are higher. */
const midst = Buffer.alloc(16, 0x80)
const user = entities[7]?.key[0] as Uint8Array
/** A number of ranges that fills up a statement with empty parts. */
const someUsers = entities.slice(1_500, 1_517).map(({ id, key }) => ({ key, entityId: id }))

const { shard, counter } = await startOwnServer()
let index: IndexTable
let claims: ClaimTable
let taken: IndexTable
let inHalves: IndexTable

beforeAll(async () => {
  await shard.createIndexTable(spec)
  await shard.createIndexTable(unique)
  await shard.createIndexTable(mixed)
  index = shard.index(spec)
  claims = shard.claims(unique)
  taken = shard.index(unique)
  inHalves = shard.index(mixed)
  for (let from = 0; from < ENTITIES; from += 250) {
    const rows = entities.slice(from, from + 250)
    await shard.entities.insert(
      rows.map((row) => ({ ...row, deferred: [spec.table] })),
      { epoch },
    )
    const indexRows = rows.map(({ key, id }) => ({ key, entityId: id, version: 1 }))
    await index.upsert(indexRows)
    await claims.take(indexRows)
    await inHalves.upsert(rows.map(({ id, key }) => ({ key: halfOf(key), entityId: id, version: 1 })))
  }
  await counter.query('ANALYZE TABLE entities, ix_user, ix_claims, ix_mixed, looseleaf_pending')
})

/** Rows that the server has read so far, with those of its internal tables. */
async function rowsRead(): Promise<number> {
  const [rows] = await counter.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Handler\\_read%'")
  return rows.reduce((sum, row) => sum + Number(row['Value']), 0)
}

const replacing = (count: number, base: number) =>
  shard.entities.replace(
    some.slice(0, count).map(({ id, body }) => ({ id, base, version: base + count, body })),
    { epoch },
  )
const entry = (at: number) => ({ key: entities[at]?.key as Key, entityId: entities[at]?.id as Uint8Array })

const inHalf = (at: number) => ({ key: halfOf(entry(at).key), entityId: entry(at).entityId })

test.each<[name: string, rows: number, act: () => Promise<unknown>]>([
  ['entities by their ids', ROWS, () => shard.entities.read(some.map(({ id }) => id))],
  [
    'entities by their ids, without long bodies',
    2 * ROWS,
    () =>
      shard.entities.readBounded(
        some.map(({ id }) => id),
        100,
      ),
  ],
  ['versions by their ids', ROWS, () => shard.entities.readVersions(some.map(({ id }) => id))],
  ['a compare-and-swap', 1, () => replacing(1, 1)],
  ['a compare-and-swap that loses', 1, () => replacing(1, 7)],
  ['compare-and-swaps of many, some lost', ROWS, () => replacing(ROWS, 1)],
  ['entities in the order of writing', ROWS, () => shard.entities.pageByAdded(900, ROWS)],
  ['entities in the order of time', ROWS, () => shard.entities.pageByUpdated({ since: 0 }, ROWS)],
  [
    'upserts of existing rows',
    ROWS,
    () => index.upsert(some.map(({ key, id }) => ({ key, entityId: id, version: 3 }))),
  ],
  [
    'removals of rows that have a later version',
    ROWS,
    () => index.remove(some.map(({ key, id }) => ({ key, entityId: id, before: 3 }))),
  ],
  ['removals', ROWS, () => index.remove(some.map(({ key, id }) => ({ key, entityId: id, before: 4 })))],
  ['a user’s first rows', ROWS, () => index.scan({ prefix: [user], order: 'asc', limit: ROWS })],
  ['a user’s last rows', ROWS, () => index.scan({ prefix: [user], order: 'desc', limit: ROWS })],
  [
    'a user’s rows from a number',
    ROWS,
    () => index.scan({ prefix: [user], lower: { value: 500, inclusive: true }, order: 'asc', limit: ROWS }),
  ],
  [
    'a user’s rows before one of them',
    ROWS,
    () => index.scan({ prefix: [user], after: entry(1_507), order: 'desc', limit: ROWS }),
  ],
  ...(['asc', 'desc'] as const).map((order): [string, number, () => Promise<unknown>] => [
    `a user’s rows from one of them on, ${order}`,
    ROWS,
    () => index.scan({ prefix: [user], after: { ...entry(1_507), inclusive: true }, order, limit: ROWS }),
  ]),
  ...(['asc', 'desc'] as const).map((order): [string, number, () => Promise<unknown>] => [
    `some rows of each of many users, ${order}`,
    ROWS,
    () => index.scanMany(someUsers.map(({ key: [own] }) => ({ prefix: [own!], order, limit: 3 }))),
  ]),
  [
    'some rows after a place of each of many users',
    ROWS,
    () =>
      index.scanMany(someUsers.map((after) => ({ prefix: [after.key[0]!], after, order: 'desc', limit: 3 }))),
  ],
  [
    'counts of some rows of each of many users',
    ROWS,
    () =>
      index.countMany(
        someUsers.map(({ key: [own] }) => ({
          prefix: [own!],
          lower: { value: ENTITIES - 3 * USERS, inclusive: true },
        })),
      ),
  ],
  [
    'all rows after one',
    ROWS,
    () => index.scan({ prefix: [], after: entry(1_507), order: 'asc', limit: ROWS }),
  ],
  [
    'the rows of entities',
    ROWS,
    () =>
      shard.rowsOf(
        [spec],
        some.map(({ id }) => id),
      ),
  ],
  [
    'a page of pending rows',
    ROWS,
    () => shard.pending.page({ after: { entityId: midst, table: spec.table }, limit: ROWS }),
  ],
  [
    'existing claims',
    2 * ROWS,
    () => claims.take(some.map(({ key, id }) => ({ key, entityId: id, version: 1 }))),
  ],
  [
    'claims of other entities',
    2 * ROWS,
    () => claims.take(some.map(({ key }) => ({ key, entityId: entry(1).entityId, version: 9 }))),
  ],
  ['a swap', 1, () => claims.swap({ ...entry(7), version: 1 }, { ...entry(7), version: 2 })],
  ['the first claims', ROWS, () => taken.scan({ prefix: [], order: 'asc', limit: ROWS })],
  [
    'all claims after one',
    ROWS,
    () => taken.scan({ prefix: [], after: entry(1_507), order: 'asc', limit: ROWS }),
  ],
  [
    'a user’s claims before one of them',
    ROWS,
    () => taken.scan({ prefix: [user], after: entry(1_507), order: 'desc', limit: ROWS }),
  ],
  [
    'removals of claims that have a later stamp',
    ROWS,
    () => taken.remove(some.map(({ key, id }) => ({ key, entityId: id, before: 1 }))),
  ],
  ['a count of a user’s rows', ENTITIES / USERS, () => index.count({ prefix: [user] })],
  ['checksums by ids', ROWS, () => shard.entities.checksums(some.map(({ id }) => id))],
  [
    'checksums in the order of changes',
    ROWS,
    () => shard.entities.pageOfChecksums({ after: { updated: 0, addedId: 0 } }, ROWS),
  ],
  ['copies over existing rows', ROWS, () => shard.entities.receive(some, { epoch, updated: 0 })],
  [
    'a discard of a stale epoch',
    ROWS,
    () =>
      shard.entities
        .discard(
          some.map(({ id }) => id),
          { epoch: 9 },
        )
        .catch(() => {}),
  ],
  [
    'a discard',
    ROWS,
    () =>
      shard.entities.discard(
        some.map(({ id }) => id),
        { epoch },
      ),
  ],
])('the server reads no other rows of the table for %s', (_, rows, act) => expectFewRows(rows, act))

test.for<[name: string, rows: number, act: () => Promise<unknown>]>([
  ['the first rows of two directions', ROWS, () => inHalves.scan({ prefix: [], order: 'asc', limit: ROWS })],
  ['the last rows of two directions', ROWS, () => inHalves.scan({ prefix: [], order: 'desc', limit: ROWS })],
  ...(['asc', 'desc'] as const).flatMap((order) =>
    [1_000, 1_001].map((at): [string, number, () => Promise<unknown>] => [
      `rows of two directions in the midst of half ${at % 2}, ${order}`,
      ROWS,
      () =>
        inHalves.scan({ prefix: [], after: { ...inHalf(at), inclusive: at % 2 === 0 }, order, limit: ROWS }),
    ]),
  ),
  [
    'rows of two directions within a half with bounds',
    ROWS,
    () =>
      inHalves.scan({
        prefix: [],
        lower: { value: 0n, inclusive: true },
        upper: { value: 0n, inclusive: true },
        after: inHalf(1_000),
        order: 'asc',
        limit: ROWS,
      }),
  ],
])(
  'a server with descending columns reads no other rows of the table for %s',
  async ([what, rows, act], { skip }) => {
    const [version] = await counter.query<RowDataPacket[]>('SELECT VERSION() AS version')
    const [, major, minor] = /^(\d+)\.(\d+)\..*MariaDB/.exec(String(version[0]?.['version'])) ?? []
    // No form of the condition changes that: not `half = ? AND number < ?` alone, nor FORCE INDEX.
    skip(
      major === undefined && what.endsWith(', desc'),
      'MySQL reads no range of two directions backwards: it reads and sorts all rows after the place',
    )
    skip(
      major !== undefined && Number(major) * 100 + Number(minor) < 1008,
      'MariaDB before 10.8 has no descending columns',
    )
    await expectFewRows(rows, act)
  },
)

test('scans that differ in their values only are one statement, and so are counts', async () => {
  const ranges = someUsers.map(({ key: [own] }) => ({ prefix: [own!] }))
  const selects = async (): Promise<number> => {
    const [[row]] = await counter.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Com\\_select'")
    return Number(row?.['Value'])
  }
  const before = await selects()
  await index.scanMany(ranges.map((range) => ({ ...range, order: 'desc', limit: 3 })))
  expect((await selects()) - before).toBe(1)
  await index.countMany(ranges)
  expect((await selects()) - before).toBe(2)
})

async function expectFewRows(rows: number, act: () => Promise<unknown>): Promise<void> {
  const before = await rowsRead()
  const between = await rowsRead()
  await act()
  const read = (await rowsRead()) - between - (between - before)
  expect(read).toBeGreaterThanOrEqual(1)
  // Each row is found by its key and may be copied once; a statement starts with a few.
  expect(read).toBeLessThanOrEqual(6 * rows + 20)
  expect(6 * rows + 20).toBeLessThan(ENTITIES / 2)
}
