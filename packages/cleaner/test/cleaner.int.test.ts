import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test } from 'vitest'
import { checkIndex, sweep } from '../src/index.ts'
import { tunedCheckIndex, startTunedCleaner, tunedCleanIndex } from '../src/internal.ts'
import { dyingDriver } from './broken-driver.ts'
import { addRow, byTag, byUser, expectedRows, removeRow, rowFor, rowsIn, shared } from './stores.ts'
import { until } from '@looseleaf-tooling/kit/times'

const bagOf = (i: number): Record<string, string | number | string[]> => ({
  user_id: `user ${i % 7}`,
  published: i,
  tags: [`tag ${i % 3}`, `tag ${i % 5}`],
})

/** Creates two databases. Returns a function that opens stores on them, each with its own connections. */
async function databases(): Promise<(indexes?: (typeof byUser | typeof byTag)[]) => Promise<DataStore>> {
  const { urls } = await freshShards(2)
  const stores: DataStore[] = []
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
  })
  return async (indexes = []) => {
    const store = await DataStore.open({
      shards: mysqlShards(urls),
      indexes,
      migrate: true,
      // Short, because sweeps wait until queries in flight have ended.
      queryTimeMs: 500,
      onWarning: () => undefined,
    })
    stores.push(store)
    return store
  }
}

test('missing, dangling and misplaced rows and those of dead writers are found and repaired', async () => {
  const open = await databases()
  const store = await open([byUser, byTag])
  const ids: string[] = []
  for (let i = 0; i < 6; i++) ids.push((await store.put(bagOf(i))).id)
  const [missing, dangling, ahead, moved, orphan] = [ids[0]!, ids[1]!, ids[2]!, ids[3]!, store.newId()]
  const stamp = Date.now() * 1000 + 1_000_000
  await removeRow(store, 'by_user', rowFor(store, 'by_user', missing, bagOf(0), 0))
  await addRow(store, 'by_user', rowFor(store, 'by_user', dangling, bagOf(9), 1))
  await addRow(store, 'by_user', rowFor(store, 'by_user', ahead, bagOf(9), stamp))
  await addRow(store, 'by_user', rowFor(store, 'by_user', orphan, bagOf(9), stamp))
  const right = rowFor(store, 'by_user', moved, bagOf(3), 1)
  await removeRow(store, 'by_user', right)
  await addRow(store, 'by_user', { ...right, shard: 1 - right.shard })

  expect(await tunedCheckIndex(store, 'by_user', { settleMs: 20 })).toMatchObject({
    entities: 6,
    rows: 8,
    missing: 2,
    dangling: 3,
    misplaced: 1,
    examples: expect.arrayContaining([missing, dangling, ahead, moved, orphan]),
  })
  expect(await sweep(store, { graceMs: 0 })).toMatchObject({ fenced: 2 })
  expect(await checkIndex(store, 'by_user')).toMatchObject({ rows: 6, missing: 0, dangling: 0, misplaced: 0 })
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('indexes are filled by two workers while writers run', async () => {
  const open = await databases()
  const [store, worker, writer] = [await open(), await open(), await open()]
  const ids = (await store.putMany(Array.from({ length: 400 }, (_, i) => bagOf(i)))).map(({ id }) => id)
  await store.addIndex(byUser)
  await store.addIndex(byTag)
  let isOver = false
  const write = async (first: number): Promise<void> => {
    for (let i = first; !isOver; i += 4) {
      const id = ids[i % ids.length]!
      if (i % 11 === 0) await writer.delete(id)
      else await writer.put(bagOf(i * 13), { id })
    }
  }
  const writers = [0, 1, 2, 3].map(write)
  const options = { pageSize: 50, pollMs: 20, settleMs: 50 }
  await Promise.all([tunedCleanIndex(store, undefined, options), tunedCleanIndex(worker, undefined, options)])
  isOver = true
  await Promise.all(writers)
  await writer.settled()
  for (const name of ['by_user', 'by_tag']) {
    const rows = new Set(await rowsIn(store, name))
    for (const row of await expectedRows(store, name)) expect(rows).toContain(row)
  }
  await tunedCleanIndex(store, undefined, { ...options, graceMs: 0 })
  for (const name of ['by_user', 'by_tag']) {
    expect(await rowsIn(store, name)).toEqual(await expectedRows(store, name))
  }
})

test('another worker takes over after the leases of a killed one have expired', async () => {
  const open = await databases()
  const store = await open()
  await store.putMany(Array.from({ length: 10 }, (_, i) => bagOf(i)))
  await store.addIndex(byUser)
  const mortal = dyingDriver(store.context.driver, { withEffect: true })
  const dying = await DataStore.open({ shards: shared(mortal.driver), onWarning: () => undefined })
  const options = { pageSize: 2, checkpointMs: 0, leaseMs: 200, pollMs: 20 }
  for (const dieAfter of [12, 25, 40]) {
    mortal.dieAfter(dieAfter)
    await expect(tunedCleanIndex(dying, 'by_user', options)).rejects.toMatchObject({ code: 'CLOSED' })
  }
  await tunedCleanIndex(store, 'by_user', options)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  expect(await store.getAll(byUser, { user_id: 'user 3' })).toHaveLength(1)
})

test('an index with a missing table is filled again, and a process that knew it as ready does not query it before', async () => {
  const open = await databases()
  const reader = await open([byUser])
  for (let i = 0; i < 30; i++) await reader.put(bagOf(i))
  await reader.context.driver.shards[1]!.dropIndexTable({ table: 'index_by_user', columns: [] })
  await expect(reader.getAll(byUser, {}, { scatter: true })).rejects.toThrow(/looseleaf init/)
  const store = await open()
  await expect(reader.query(byUser, { user_id: 'user 1' })).rejects.toMatchObject({ code: 'INDEX_NOT_READY' })
  await reader.put(bagOf(30))
  await tunedCleanIndex(store, 'by_user', { settleMs: 20 })
  expect(await reader.getAll(byUser, {}, { scatter: true })).toHaveLength(31)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a filled partial index has only the rows of its entities', async () => {
  const open = await databases()
  const store = await open()
  for (let i = 0; i < 60; i++) await store.put({ ...bagOf(i), kind: i % 3 === 0 ? 'entry' : i })
  const entries = defineIndex('entries_by_user', {
    properties: { user_id: 'string', published: { type: 'integer', order: 'desc' } },
    shardOn: 'user_id',
    on: { kind: 'entry' },
  })
  await store.addIndex(entries)
  await tunedCleanIndex(store, entries.name, { settleMs: 20 })
  expect(await rowsIn(store, entries.name)).toHaveLength(20)
  expect(await checkIndex(store, entries.name)).toMatchObject({ rows: 20, missing: 0, dangling: 0 })
  const where = { user_id: { in: ['user 0', 'user 1', 'user 2'] }, published: { lt: 30 } }
  const found = await store.getAll(entries, where)
  expect(found.map(({ published }) => published)).toEqual([21, 0, 15, 9])
  expect(await store.explain(entries, where)).toMatchObject({
    table: 'index_entries_by_user',
    scatter: false,
    ranges: 3,
    estimatedRows: 4,
    isAtLeast: false,
  })
})

test('a running cleaner follows the writes and fills new indexes', async () => {
  const open = await databases()
  const [store, other] = [await open([byUser]), await open()]
  const cleaner = startTunedCleaner(store, { intervalMs: 20, catalogMs: 50, settleMs: 20 })
  onTestFinished(() => cleaner.stop())
  const { id, version } = await other.put(bagOf(1))
  await addRow(other, 'by_user', rowFor(other, 'by_user', id, bagOf(2), version))
  await other.addIndex(byTag)
  await until(async () => (await other.indexes()).every(({ state }) => state === 'ready'))
  await until(async () => (await rowsIn(other, 'by_user')).length === 1)
  expect(await rowsIn(other, 'by_user')).toEqual(await expectedRows(other, 'by_user'))
  expect(await rowsIn(other, 'by_tag')).toEqual(await expectedRows(other, 'by_tag'))
  await cleaner.stop()
  expect(cleaner.status().lastError).toBeUndefined()
})
