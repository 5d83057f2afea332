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

// Servers of its own, because their logs have what all send.
beforeAll(async () => {
  servers = await startServers(SHARDS, { database: 'feed' })
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

/** The statements that have read an index table since the last call, of each server. */
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

test('the last comments of many entries, and how many there are, are three statements a shard', async () => {
  const entries = Array.from({ length: ENTRIES }, (_, n) => `entry ${n}`)
  await store.putMany(
    entries.flatMap((entry) =>
      Array.from({ length: COMMENTS }, (_, n) => ({ entry, at: new Date(1_000 * n), text: `${n}` })),
    ),
  )
  await indexReads()
  const wheres = entries.map((entry) => ({ entry }))
  const pages = await store.queryMany(commentsByEntry, wheres, { order: 'desc', limit: 3, count: true })
  expect(await indexReads()).toEqual([3, 3])
  expect(pages.map(({ count }) => count)).toEqual(entries.map(() => COMMENTS))
  for (const [n, { items, cost }] of pages.entries()) {
    expect(items.map(({ entry, text }) => [entry, text])).toEqual(
      ['4', '3', '2'].map((text) => [entries[n], text]),
    )
    expect(cost.complete).toBe(true)
  }
  // Counted as they are: each query by itself has its own.
  for (const where of wheres) await store.query(commentsByEntry, where, { order: 'desc', limit: 3 })
  expect((await indexReads()).reduce((sum, reads) => sum + reads, 0)).toBe(ENTRIES)
})
