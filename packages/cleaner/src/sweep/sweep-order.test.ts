import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, it } from 'vitest'
import {
  addRow,
  byTag,
  byUser,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  tableOf,
} from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { sweep } from './sweep.ts'
import { sweepEntities, sweepIndex } from '../../test/sweeps.ts'

it('a sweep adds missing rows before it looks for dangling ones', async () => {
  const operations: string[] = []
  const driver = faultyDriver(await memoryShards(1).connect(), ({ operation }) => {
    operations.push(operation)
    return undefined
  })
  const store = await openStore({ driver, indexes: [byUser], time: leapingTime() })
  const ada = { user_id: 'ada', published: 1 }
  const { id } = await store.put(ada)
  await removeRow(store, 'by_user', rowFor(store, 'by_user', id, ada, 0))
  operations.length = 0
  await sweep(store)
  expect(operations.indexOf('upsert')).toBeLessThan(operations.indexOf('scan'))
  expect(operations).toContain('upsert')
})

it('a sweep counts no missing row for an entity that loses its only row between the read and the look', async () => {
  let write = async (): Promise<void> => {}
  const memory = await memoryShards(1).connect()
  const writer = await openStore({ driver: memory, indexes: [byUser] })
  const driver = faultyDriver(memory, ({ operation }) => ({
    before: () => (operation === 'rowsOf' ? write() : undefined),
  }))
  const store = await openStore({ driver, indexes: [byUser] })
  const { id } = await writer.put({ user_id: 'ada', published: 1 })
  let writes = 0
  write = async () => {
    if (writes++ === 0) await writer.put({ published: 2 }, { id })
  }
  const { added } = await sweepEntities(store)
  expect(writes).toBeGreaterThan(0)
  expect(added).toBe(0)
  expect(await rowsIn(store, 'by_user')).toEqual([])
})

it('rows are compared with their entities 16 pages at once, and the rest at the end', async () => {
  const reads: number[] = []
  let scans = 0
  const driver = faultyDriver(await memoryShards(1).connect(), ({ operation, args }) => {
    if (operation === 'scan') scans++
    if (operation === 'readBounded') {
      reads.push(scans, (args[0] as unknown[]).length)
      // A slow read must not change the order.
      return { before: () => new Promise((resolve) => setTimeout(resolve, 5)) }
    }
    return undefined
  })
  const store = await openStore({ driver, indexes: [byUser] })
  for (let published = 0; published < 20; published++) await store.put({ user_id: 'ada', published })
  scans = 0
  reads.length = 0
  await sweepIndex(store, { pageSize: 1 })
  expect(reads).toEqual([16, 16, 21, 4])
})

it('an index that another process has added is swept too', async () => {
  const driver = await memoryShards(1).connect()
  const store = await openStore({ driver, indexes: [byUser] })
  const other = await openStore({ driver, indexes: [byUser] })
  await other.addIndex(byTag)
  const { id, version } = await other.put({ tags: ['x'], user_id: 'ada', published: 1 })
  await addRow(other, 'by_tag', rowFor(other, 'by_tag', id, { tags: ['lost'] }, version))
  expect(await sweepIndex(store)).toMatchObject({ removed: 1 })
  expect(await rowsIn(other, 'by_tag')).toEqual(await expectedRows(other, 'by_tag'))
})

it('a sweep with too many dangling rows waits until it can delete them, and continues', async () => {
  const time = leapingTime()
  const store = await openStore({ shards: 1, indexes: [byUser], time })
  const { id, version } = await store.put({ user_id: 'ada', published: 0 })
  const rows = Array.from({ length: 24_001 }, (_, published) =>
    rowFor(store, 'by_user', id, { user_id: 'eve', published }, version),
  )
  const table = tableOf(store, 'by_user', 0)
  for (let i = 0; i < rows.length; i += 500) await table.upsert(rows.slice(i, i + 500).map(({ row }) => row))
  const before = time.slept
  expect(await sweepIndex(store)).toMatchObject({ removed: 24_001 })
  // Lost rows are kept for 11 ms here. The sweep waits once with the first 24,000 rows and once with the last one.
  expect(time.slept - before).toBe(22)
  expect(await rowsIn(store, 'by_user')).toHaveLength(1)
})

it('a sweep rejects an unknown shard', async () => {
  const store = await openStore({ shards: 2 })
  for (const shard of [2, -1])
    await expect(sweepIndex(store, { shard })).rejects.toMatchObject({ code: 'BAD_OPTION' })
})
