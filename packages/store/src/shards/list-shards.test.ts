import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { moduloRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

let memory: Driver
let store: DataStore
/** Error of the calls of shard 1. */
let failure: LooseleafError | undefined
let calls: string[]

beforeEach(async () => {
  memory = await memoryShards(3).connect()
  failure = undefined
  calls = []
  const driver = faultyDriver(memory, ({ shard, table, operation }) => {
    calls.push(`${shard} ${table} ${operation}`)
    if (shard !== 1 || failure === undefined) return undefined
    const error = failure
    return { before: () => Promise.reject(error) }
  })
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

async function setState(number: number, state: 'joining' | 'draining' | 'removed'): Promise<void> {
  await changeCatalogContents(memory, ({ layout, ...contents }) => {
    const shards = layout!.shards.with(number, { ...layout!.shards[number]!, state })
    return { ...contents, layout: { ...layout!, revision: 1, shards, moves: [] } }
  })
}

test('a list has the address, the state and the buckets of each shard, and no sizes', async () => {
  await setState(1, 'draining')
  const serving = { state: 'serving', size: undefined, error: undefined }
  expect(await store.shards.list()).toEqual([
    { number: 0, address: 'memory 0', buckets: 1_366, ranges: '0-1365', ...serving },
    { number: 1, address: 'memory 1', buckets: 1_365, ranges: '1366-2730', ...serving, state: 'draining' },
    { number: 2, address: 'memory 2', buckets: 1_365, ranges: '2731-4095', ...serving },
  ])
})

test('a list with sizes counts what each shard has', async () => {
  const { id } = await store.put({ n: 1 })
  const entities = (await store.shards.list({ sizes: true })).map(({ size }) => size!.entities)
  expect(entities.reduce((sum, count) => sum + count, 0)).toBe(1)
  await store.delete(id)
  const sizes = (await store.shards.list({ sizes: true })).map(({ size }) => size!)
  expect(sizes.map((size) => size.entities)).toEqual([0, 0, 0])
  expect(sizes.reduce((sum, { tombstones }) => sum + tombstones, 0)).toBe(1)
})

test('a removed shard is listed without a question', async () => {
  await setState(1, 'removed')
  await store.context.catalog.reload()
  calls.length = 0
  expect((await store.shards.list({ sizes: true }))[1]).toMatchObject({
    address: 'memory 1',
    state: 'removed',
    size: undefined,
    error: undefined,
  })
  expect(calls.filter((call) => call.startsWith('1 '))).toEqual([])
})

test('a shard that does not answer has its error, and the others have their sizes', async () => {
  failure = new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.', { shard: 'memory 1' })
  const [first, second] = await store.shards.list({ sizes: true })
  expect(first).toMatchObject({ error: undefined, size: { entities: 0 } })
  expect(second).toMatchObject({ state: 'serving', size: undefined, error: { code: 'SHARD_UNAVAILABLE' } })
})

test('a list rejects with errors that are of no shard', async () => {
  const aborted = new AbortController()
  aborted.abort()
  await expect(store.shards.list({ signal: aborted.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  for (const code of ['ABORTED', 'CLOSED'] as const) {
    failure = new LooseleafError(code, 'The call has ended.')
    await expect(store.shards.list()).rejects.toMatchObject({ code })
  }
  failure = new TypeError('A mistake of the program.') as never
  await expect(store.shards.list()).rejects.toThrow('A mistake of the program.')
})

test('a shard of a router without buckets serves, and has no number of them', async () => {
  const router = moduloRouter({ shards: 1 })
  const fixed = await DataStore.open({ shards: memoryShards(1), router, migrate: true })
  expect(await fixed.shards.list()).toEqual([
    {
      number: 0,
      address: 'memory 0',
      state: 'serving',
      buckets: undefined,
      ranges: undefined,
      size: undefined,
      error: undefined,
    },
  ])
  await fixed.close()
})

test('a shard of a store without a layout serves under its own address', async () => {
  await changeCatalogContents(memory, (contents) => ({ ...contents, layout: undefined }))
  const older = await DataStore.open({ shards: keepOpen(memory) })
  expect(older.context.catalog.current().layout).toBeUndefined()
  expect((await older.shards.list())[1]).toMatchObject({ address: 'memory 1', state: 'serving' })
  await older.close()
})
