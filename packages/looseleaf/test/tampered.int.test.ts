import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import type { Time } from '@looseleaf/core'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cleanIndex, DataStore, defineIndex, mysqlShards } from '../src/index.ts'
import { checkRewinds, readRewinds, startTunedCleaner } from '@looseleaf/cleaner/internal'

const byUser = defineIndex('by_user', {
  properties: { user: 'string', published: 'integer' },
  shardOn: 'user',
})
const MINUTE = 60_000

/** Makes a clock whose sleeps end at once and advance it by their length. */
function leapingTime(): Time & { leap(milliseconds: number): void } {
  let now = Date.now()
  return {
    now: () => now,
    leap: (milliseconds) => void (now += milliseconds),
    async sleep(milliseconds) {
      now += milliseconds
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

async function connect(url: string): Promise<Connection> {
  const connection = await createConnection({ uri: url })
  onTestFinished(() => connection.end())
  return connection
}

async function open(
  urls: readonly string[],
  time?: Time,
): Promise<{ readonly store: DataStore; readonly warnings: readonly string[] }> {
  const warnings: string[] = []
  const store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: [byUser],
    migrate: true,
    ...(time && { time }),
    onWarning: (warning) => warnings.push(warning),
  })
  onTestFinished(() => store.close())
  return { store, warnings }
}

const users = Array.from({ length: 30 }, (_, i) => ({ user: `user ${i % 5}`, published: i }))

async function found(store: DataStore): Promise<number> {
  const each = await Promise.all([0, 1, 2, 3, 4].map((n) => store.getAll(byUser, { user: `user ${n}` })))
  return each.flat().length
}

test('a cleaner notices a TRUNCATE of an index table and fills the index again', async () => {
  const { urls } = await freshShards(1)
  const { store, warnings } = await open(urls, leapingTime())
  await store.putMany(users)
  const cleaner = startTunedCleaner(store, { settleMs: 0, sweepEveryMs: 1e12, catalogMs: MINUTE })
  onTestFinished(() => cleaner.stop())
  const connection = await connect(urls[0]!)
  const witnesses = async (): Promise<number> => {
    const sql = "SELECT name FROM looseleaf_tasks WHERE name LIKE 'witness/%' AND progress LIKE '%bytes%'"
    return (await connection.query<RowDataPacket[]>(sql))[0].length
  }
  // Waits for the end of the first sweep, which would add the rows again. It starts after the first look and then has progress.
  const hasSwept = (): boolean => {
    const { progress, sweeping } = cleaner.status()
    return progress.length > 0 && sweeping.length === 0
  }
  await vi.waitUntil(async () => hasSwept() && (await witnesses()) === 1, 60_000)
  await connection.query('TRUNCATE index_by_user')
  await vi.waitUntil(() => warnings.some((warning) => warning.includes('was emptied')), 60_000)
  await vi.waitUntil(async () => (await store.indexes())[0]!.state === 'ready', 60_000)
  // Opened with the real clock, because the leaping one would exceed the time limit of a query.
  expect(await found((await open(urls)).store)).toBe(30)
})

/** Copies all tables of a database to another one. */
async function copy(connection: Connection, from: string, to: string): Promise<void> {
  await connection.query(`CREATE DATABASE IF NOT EXISTS \`${to}\``)
  const [tables] = await connection.query<RowDataPacket[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?',
    [from],
  )
  for (const { name } of tables) {
    await connection.query(`DROP TABLE IF EXISTS \`${to}\`.\`${String(name)}\``)
    await connection.query(`CREATE TABLE \`${to}\`.\`${String(name)}\` LIKE \`${from}\`.\`${String(name)}\``)
    await connection.query(
      `INSERT INTO \`${to}\`.\`${String(name)}\` SELECT * FROM \`${from}\`.\`${String(name)}\``,
    )
  }
}

test('open warns of a database that was restored from a copy, until all indexes are cleaned', async () => {
  const { urls } = await freshShards(2)
  const time = leapingTime()
  const before = await open(urls, time)
  const written = await before.store.putMany(users)
  await checkRewinds(before.store)
  const name = new URL(urls[0]!).pathname.slice(1)
  const connection = await connect(urls[0]!)
  onTestFinished(() => void connection.query(`DROP DATABASE IF EXISTS \`${name}_copy\``))
  await copy(connection, name, `${name}_copy`)
  time.leap(MINUTE)
  await checkRewinds(before.store)
  await Promise.all(
    written.map(({ id }, i) => before.store.put({ user: `user ${(i + 1) % 5}`, published: i }, { id })),
  )
  await before.store.settled()
  await before.store.close()
  await copy(connection, `${name}_copy`, name)

  const { store, warnings } = await open(urls, time)
  expect(warnings.filter((warning) => warning.includes('gone back'))).toEqual([
    expect.stringContaining(`${name} has gone back in time`),
  ])
  expect(await found(store)).toBeLessThan(30)
  await checkRewinds(store)
  await cleanIndex(store, undefined, { restart: true })
  expect(await found(store)).toBe(30)
  expect(await readRewinds(store)).toMatchObject([{ isSwept: true }])
})
