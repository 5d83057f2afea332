import type { SentStatement } from '@looseleaf/core'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import { expect, test } from 'vitest'
import { memoryShards } from './memory-shards.ts'

const id = Uint8Array.from({ length: 16 }, (_, i) => i)
const secret = Buffer.from('secret')

const byName: IndexTableSpec = { table: 'index_name', columns: [{ name: 'name', type: 'string' }] }

async function listened(listens: () => boolean) {
  const told: SentStatement[] = []
  const statements = {
    get isListening() {
      return listens()
    },
    sent: (statement: SentStatement) => void told.push(statement),
  }
  const driver = await memoryShards(1).connect({ statements })
  const [shard] = driver.shards
  await shard!.createTables()
  told.length = 0
  return { shard: shard!, told, driver }
}

test('a driver reports every statement with its rows, shard and time, and without values', async () => {
  const { shard, told, driver } = await listened(() => true)
  await shard.createIndexTable(byName)
  told.length = 0
  const before = performance.now()
  await shard.index(byName).upsert([{ key: [secret], entityId: id, version: 7 }])
  await shard.index(byName).scan({ prefix: [secret], order: 'asc', limit: 10 })
  expect(
    told.map(({ shard: name, text, rows, failure }) => [name, text.trim().split(/\s/)[0], rows, failure]),
  ).toEqual([
    ['memory 0', 'INSERT', 1, undefined],
    ['memory 0', 'SELECT', 1, undefined],
  ])
  for (const { sentAt, durationMs, text } of told) {
    expect(sentAt).toBeGreaterThanOrEqual(before)
    expect(durationMs).toBeGreaterThanOrEqual(0)
    expect(text).not.toContain('secret')
  }
  await driver.close()
})

test("a failed statement is reported with SQLite's result code", async () => {
  const { shard, told, driver } = await listened(() => true)
  await expect(shard.index(byName).scan({ prefix: [], order: 'asc', limit: 1 })).rejects.toThrow('index_name')
  expect(told.map(({ rows, failure }) => [rows, failure])).toEqual([[0, 'SQLITE_ERROR']])
  await driver.close()
})

test('no statement is reported while the listener is off', async () => {
  const { shard, told, driver } = await listened(() => false)
  await shard.now()
  expect(told).toEqual([])
  await driver.close()
})
