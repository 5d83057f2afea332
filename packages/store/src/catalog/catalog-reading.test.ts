import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'id' })

/** Opens a store whose next read of the catalog waits for `letGo`. */
async function openSlow(): Promise<{ slow: DataStore; other: DataStore; release(): void; loads(): number }> {
  const memory = await memoryShards(1).connect()
  const other = await DataStore.open({ shards: keepOpen(memory), migrate: true })
  const gate = Promise.withResolvers<void>()
  let loads = -1
  const faulty = faultyDriver(memory, ({ table, operation }) => {
    if (table !== 'catalog' || operation !== 'load' || loads < 0) return undefined
    return ++loads === 1 ? { after: () => gate.promise } : undefined
  })
  const slow = await DataStore.open({ shards: keepOpen(faulty) })
  loads = 0
  return { slow, other, release: gate.resolve, loads: () => loads }
}

const namesOf = (catalog: DataStore['context']['catalog']): string[] =>
  catalog.current().indexes.map(({ name }) => name)

test('a reload of the catalog starts a new read if one is in flight, and concurrent reloads share it', async () => {
  const { slow, other, release, loads } = await openSlow()
  const { catalog } = slow.context
  const early = catalog.reload()
  await new Promise((resolve) => setImmediate(resolve))
  await other.addIndex(byName)
  const late = Promise.all(Array.from({ length: 5 }, () => catalog.reload()))
  release()
  await early
  expect(namesOf(catalog)).toEqual([])
  for (const { indexes } of await late) expect(indexes).toMatchObject([{ name: 'by_name' }])
  // The waiting reloads share one read.
  expect(loads()).toBe(2)
  await catalog.reload()
  expect(loads()).toBe(3)
})

test('a failed reload does not prevent the next one', async () => {
  const memory = await memoryShards(1).connect()
  let isDown = false
  const faulty = faultyDriver(memory, ({ operation }) =>
    isDown && operation === 'load'
      ? {
          before() {
            isDown = false
            throw new Error('down')
          },
        }
      : undefined,
  )
  const store = await DataStore.open({
    shards: { shardCount: 1, connect: async () => faulty },
    migrate: true,
  })
  isDown = true
  const readings = await Promise.allSettled([store.context.catalog.reload(), store.context.catalog.reload()])
  expect(readings.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  await store.close()
})
