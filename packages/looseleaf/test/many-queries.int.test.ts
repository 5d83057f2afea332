import { DataStore, defineIndex, mysqlShards } from 'looseleaf'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'

const commentsByEntry = defineIndex('comments_by_entry', {
  properties: { entry: 'string', at: 'time' },
  shardOn: 'entry',
})
const SHARDS = 2
const ENTRIES = 20
const COMMENTS = 5

let servers: RunningServers
let logs: readonly Connection[]
let store: DataStore

// This test starts its own servers, because a general log has the statements of all clients.
beforeAll(async () => {
  servers = await startServers(SHARDS, { database: 'feed', inMemory: true })
  logs = await Promise.all(servers.urls.map((url) => createConnection(url)))
  for (const log of logs) await log.query("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = 1")
  store = await DataStore.open({
    shards: mysqlShards(servers.urls),
    indexes: [commentsByEntry],
    migrate: true,
    onWarning: () => {},
  })
}, 60_000)

afterAll(async () => {
  await store?.close()
  for (const log of logs ?? []) await log.end()
  await servers?.stop()
})

/** Returns the number of statements per server that have read the index table since the previous call. */
async function indexReads(): Promise<number[]> {
  return Promise.all(
    logs.map(async (log) => {
      const [rows] = await log.query<RowDataPacket[]>(
        "SELECT argument FROM mysql.general_log WHERE command_type IN ('Query', 'Execute') AND argument LIKE '%FROM `index\\_comments%' AND argument NOT LIKE '%general_log%'",
      )
      await log.query('TRUNCATE mysql.general_log')
      return rows.length
    }),
  )
}

test('one queryMany for the last comments of many entries with counts sends two statements per shard to the index', async () => {
  const entries = Array.from({ length: ENTRIES }, (_, n) => `entry ${n}`)
  await store.putMany(
    entries.flatMap((entry) =>
      Array.from({ length: COMMENTS }, (_, n) => ({ entry, at: new Date(1_000 * n), text: `${n}` })),
    ),
  )
  await indexReads()
  const wheres = entries.map((entry) => ({ entry }))
  const pages = await store.queryMany(commentsByEntry, wheres, { order: 'desc', limit: 3, count: true })
  expect(await indexReads()).toEqual([2, 2])
  expect(pages.map(({ count }) => count)).toEqual(entries.map(() => COMMENTS))
  for (const [n, { items, cost }] of pages.entries()) {
    expect(items.map(({ entry, text }) => [entry, text])).toEqual(
      ['4', '3', '2'].map((text) => [entries[n], text]),
    )
    expect(cost.complete).toBe(true)
  }
  // Checks the count itself: separate queries send one statement each.
  for (const where of wheres) await store.query(commentsByEntry, where, { order: 'desc', limit: 3 })
  expect((await indexReads()).reduce((sum, reads) => sum + reads, 0)).toBe(ENTRIES)
})
