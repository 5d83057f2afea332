import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import {
  consume,
  DataStore,
  dropConsumer,
  memoryShards,
  readConsumers,
  sqliteShards,
  type DataStoreOptions,
  type EntityId,
} from '../src/index.ts'
import { bagOf, indexes } from './removals.ts'

const deferred = (): PromiseWithResolvers<void> => Promise.withResolvers<void>()

test('a consumer goes on after every shard that it began on was replaced by another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-replaced-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const open = (options: Partial<DataStoreOptions>): Promise<DataStore> =>
    DataStore.open({ shards: sqliteShards({ folder, shards: 2, durability: 'normal' }), indexes, ...options })
  const admin = await open({ migrate: true, queryTimeMs: 500, time: leapingTime(), onWarning: () => {} })
  const store = await open({ onWarning: () => {} })
  const handled = new Set<EntityId>()
  const errors: unknown[] = []
  const handle = ({ id }: { id: EntityId }): void => void handled.add(id)
  const options = { pollMs: 10, onError: (error: unknown) => void errors.push(error) }
  const running = consume(store, 'search', handle, { ...options, from: 'beginning' })
  const first = await store.putMany(Array.from({ length: 20 }, (_, n) => bagOf(n)))
  await expect.poll(() => handled.size, { timeout: 10_000 }).toBe(20)
  for (const number of [0, 1]) {
    await admin.shards.add(`shard-${number + 2}.sqlite`)
    // The time of the administrator leaps over the wait for the consumer.
    const replaced = async (): Promise<unknown> => {
      await admin.shards.drain(number)
      return admin.shards.remove(number)
    }
    await expect.poll(replaced, { timeout: 10_000 }).toBeUndefined()
  }
  const later = await store.putMany(Array.from({ length: 20 }, (_, n) => bagOf(20 + n)))
  const ids = [...first, ...later].map(({ id }) => id)
  await expect.poll(() => handled, { timeout: 10_000 }).toEqual(new Set(ids))
  expect(errors).toEqual([])
  expect(running.status().isRunning).toBe(true)
  const numbers = (): number[] => running.status().shards.map(({ number }) => number)
  await expect.poll(numbers, { timeout: 10_000 }).toEqual([2, 3])
  // The counts of the consumer keep the changes that it handled on the removed shards.
  expect(running.status().handled).toBeGreaterThanOrEqual(40)
  await running.stop()
  expect((await readConsumers(store)).map(({ name }) => name)).toEqual(['search'])

  // The next process needs no `from`, so it goes on at the saved place.
  const [last] = await store.putMany([bagOf(40)])
  handled.clear()
  const next = consume(store, 'search', handle, options)
  await expect.poll(() => [...handled], { timeout: 10_000 }).toContain(last!.id)
  expect(next.status().shards.map(({ number }) => number)).toEqual([2, 3])
  expect(errors).toEqual([])
  await next.stop()
  await Promise.all([store.close(), admin.close()])
}, 40_000)

test('a consumer that is dropped while a removal copies it stays dropped', async () => {
  const memory = await memoryShards(3).connect()
  const store = await DataStore.open({
    shards: keepOpen(memory),
    indexes,
    migrate: true,
    queryTimeMs: 500,
  })
  const arrived = deferred()
  const cleared = deferred()
  const removing = await DataStore.open({
    shards: keepOpen(
      faultyDriver(memory, ({ shard, table, operation, args }) => {
        if (shard !== 2 || table !== 'tasks' || operation !== 'claim' || args[0] !== 'consumers')
          return undefined
        arrived.resolve()
        return { before: () => cleared.promise }
      }),
    ),
    indexes,
    time: leapingTime(),
  })
  await removing.shards.drain(1)
  const consumer = consume(store, 'search', () => {}, { from: 'now' })
  await expect.poll(() => readConsumers(store)).toHaveLength(1)
  await consumer.stop()
  const removal = removing.shards.remove(1)
  await arrived.promise
  const drop = dropConsumer(store, 'search')
  const { tasks } = memory.shards[2]!
  await expect.poll(async () => (await tasks.load('consumers'))?.progress).toBe('{}')
  cleared.resolve()
  await Promise.all([drop, removal])
  expect(await readConsumers(store)).toEqual([])
  await Promise.all([store.close(), removing.close()])
  await memory.close()
})
