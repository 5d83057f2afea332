import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Search, until } from '../../test/search.ts'
import { readDeadLetters } from '../report/manage-consumers.ts'
import { readConsumers } from '../report/read-consumers.ts'
import { consume, type Consumer } from './consume.ts'
import type { ConsumeOptions } from './consume-options.ts'
import type { Handler } from './row-handler.ts'

let search: Search
let store: DataStore

beforeEach(async () => {
  search = await Search.begin()
  store = await search.openStore()
})
afterEach(async () => {
  search.plan = () => undefined
  await search.end(store)
})

const start = (handler: Handler, options: ConsumeOptions = {}, by = store): Consumer =>
  search.start(by, handler, options)

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

async function putMany(count: number): Promise<string[]> {
  const results = await store.putMany(Array.from({ length: count }, (_, n) => ({ n })))
  return results.map(({ id }) => id)
}

it.each([
  [
    'an error whose message is no text',
    Object.assign(new Error('x'), { message: { code: 7 } }),
    '[object Object]',
  ],
  ['an object without a text', Object.create(null) as object, 'The handler threw a value without a text.'],
  ['an empty text', '', 'The handler threw a value without a text.'],
  ['an error without a message', new RangeError(), 'RangeError'],
  ['nothing', undefined, 'undefined'],
])('a handler that throws %s makes its change a dead letter with a text', async (_, thrown, text) => {
  const [odd, ...others] = await putMany(40)
  const handled = new Set<string>()
  start(
    ({ id }) => {
      if (id === odd) throw thrown
      handled.add(id)
    },
    { maxAttempts: 2 },
  )
  await until(async () => (await readConsumers(store)).length > 0)
  await until(async () => (await readDeadLetters(store, 'search')).length === 1)
  await until(() => handled.size === others.length)
  expect(await readDeadLetters(store, 'search')).toMatchObject([{ id: odd, attempts: 2, error: text }])
})

it('the place of a slow consumer is saved within a page, and it resumes there after a crash', async () => {
  await putMany(600)
  const first = new Set<string>()
  let isDead = false
  start(
    async ({ id }) => {
      await pause(10)
      first.add(id)
      // A dead process handles and saves nothing.
      if (isDead) await new Promise(() => {})
    },
    { concurrency: 4, leaseMs: 400 },
    await search.openStore(),
  )
  // A stop would save the places, so the process only appears to be dead.
  await until(async () =>
    (await readConsumers(store)).some(({ shards }) => shards.every(({ lagMs }) => Number.isFinite(lagMs))),
  )
  await until(() => first.size > 250)
  expect(first.size).toBeLessThan(600)
  isDead = true
  search.consumers = []
  search.plan = ({ operation }) => (operation === 'saveAll' ? { before: () => pause(60_000) } : undefined)
  await pause(500)
  search.plan = () => undefined
  const second = await search.openStore()
  const again: string[] = []
  const consumer = start(({ id }) => void again.push(id), {}, second)
  await until(() => new Set([...first, ...again]).size === 600)
  expect(again.filter((id) => first.has(id)).length).toBeLessThan(first.size / 2)
  await consumer.stop()
  await second.close()
})

it('a consumer slower than the writes ends with the latest states, and skips states in between', async () => {
  const ids = await putMany(20)
  const last = new Map<string, unknown>()
  const consumer = start(
    async ({ id, entity }) => {
      await pause(5)
      last.set(id, entity?.['n'])
    },
    { concurrency: 2 },
  )
  let n = 100
  const end = performance.now() + 1_500
  while (performance.now() < end) await Promise.all(ids.map((id) => store.put({ n: n++ }, { id })))
  const written = n - 100
  await until(() => ids.every((id, i) => last.get(id) === n - 20 + i))
  expect(consumer.status().handled).toBeLessThan(written / 2)
})

it('a handler that never ends delays only its own partition', async () => {
  const [hanging] = await putMany(1)
  const handled = new Set<string>()
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const consumer = start(({ id }) => (id === hanging ? held : void handled.add(id)))
  await pause(100)
  const others = await putMany(160)
  // All but one of 16 partitions are handled.
  await until(() => handled.size > 130)
  expect(consumer.status().isRunning).toBe(true)
  let isStopped = false
  const stopped = consumer.stop().then(() => (isStopped = true))
  await pause(100)
  expect(isStopped).toBe(false)
  release()
  await stopped
  const more = start(({ id }) => void handled.add(id))
  await until(() => others.every((id) => handled.has(id)))
  expect(handled.has(hanging!)).toBe(false)
  await more.stop()
})

it('the lag of a process that has partitions is unknown until it has read their shards', async () => {
  await putMany(40)
  let handled = 0
  const first = start(() => void handled++)
  await until(() => handled === 40)
  await first.stop()
  await putMany(10)
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  search.plan = ({ operation }) => (operation === 'floor' ? { before: () => opened } : undefined)
  const second = start(() => void handled++)
  await until(() => second.status().shards.reduce((sum, { partitions }) => sum + partitions, 0) === 16)
  expect(second.status().shards.map(({ lagMs }) => lagMs)).toEqual([undefined, undefined])
  open()
  await until(() => handled === 50)
  await until(() => second.status().shards.every(({ lagMs = Infinity }) => lagMs < 60_000))
})

it('a handler that never ends does not keep a consumer running after its store is closed', async () => {
  const closedStore = await DataStore.open({ shards: memoryShards(2), migrate: true })
  await closedStore.put({ n: 1 })
  let begun = 0
  const consumer = consume(closedStore, 'search', () => (begun++, new Promise(() => {})), {
    from: 'beginning',
    pollMs: 10,
    leaseMs: 300,
  })
  await until(() => begun === 1)
  expect(Math.max(...consumer.status().shards.map(({ lagMs = NaN }) => lagMs))).toBe(Infinity)
  await closedStore.close()
  await until(() => !consumer.status().isRunning)
  expect(begun).toBe(1)
})

it('a consumer begins no handler after its store is closed, and the close waits until its places are saved', async () => {
  const ids = await putMany(200)
  const closedStore = await search.openStore()
  const errors: unknown[] = []
  const first: string[] = []
  let ended = 0
  // The leases are long, so that the next consumer can only begin if they were released.
  const consumer = start(
    async ({ id }) => {
      first.push(id)
      await pause(50)
      ended++
    },
    { leaseMs: 60_000, onError: (error) => void errors.push(error) },
    closedStore,
  )
  await until(() => ended > 8)
  const closing = closedStore.close()
  const begun = first.length
  expect(consumer.status().isRunning).toBe(false)
  await closing
  expect([first.length, ended, errors]).toEqual([begun, begun, []])
  expect(consumer.status().shards.map(({ lagMs, partitions }) => [lagMs, partitions])).toEqual([
    [0, 0],
    [0, 0],
  ])
  const second: string[] = []
  const next = start(({ id }) => void second.push(id), { leaseMs: 60_000 })
  await until(() => new Set([...first, ...second]).size === ids.length)
  expect(second.filter((id) => first.includes(id))).toEqual([])
  await next.stop()
})

it('a slow consumer releases a share of its partitions to a process that joins', async () => {
  await putMany(400)
  const slow: Handler = () => pause(150)
  start(slow)
  await pause(500)
  const other = await search.openStore()
  const joined = start(slow, {}, other)
  await until(() => joined.status().handled > 0)
  expect(joined.status().shards.some(({ partitions }) => partitions > 0)).toBe(true)
  await Promise.all(search.consumers.map((consumer) => consumer.stop()))
  await other.close()
})

it('a shard whose leases cannot be renewed leaves its share of handlers to the other shards', async () => {
  const handled = new Set<string>()
  const consumer = start(
    async ({ id }) => {
      await pause(20)
      handled.add(id)
    },
    { concurrency: 2, leaseMs: 300 },
  )
  await until(() => consumer.status().shards.every(({ partitions }) => partitions === 8))
  search.plan = ({ shard, operation }) =>
    shard === 1 && operation === 'saveAll' ? { before: () => pause(3_000) } : undefined
  const putOn = async (shard: number): Promise<string> => (await store.put({}, { id: idOn(store, shard) })).id
  await Promise.all(Array.from({ length: 100 }, () => putOn(1)))
  // The leases expire while changes of the shard are still waiting.
  await pause(600)
  const ofOtherShard = await Promise.all(Array.from({ length: 20 }, () => putOn(0)))
  await pause(1_500)
  await until(() => ofOtherShard.every((id) => handled.has(id)))
  expect(handled.size).toBeLessThan(120)
})
