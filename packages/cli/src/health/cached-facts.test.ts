import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { Invocation } from '../running/invocation.ts'
import type * as cache from './cached-facts.ts'
import { readBodies, type ReadBodies } from './read-facts.ts'

// The module binds the clock when it is loaded, so this copy has a fake one.
vi.useFakeTimers({ toFake: ['performance'] })
const { cachedBodies } = await importCopy<typeof cache>(new URL('cached-facts.ts', import.meta.url))
afterAll(() => void vi.useRealTimers())

let invocation: Invocation
let store: DataStore
/** Number of pages of entities that were read. */
let pages: number
let bodiesOf: ReadBodies
let isSilent: boolean

beforeEach(async () => {
  isSilent = false
  const driver = await memoryShards(1).connect()
  const counting = faultyDriver(driver, ({ operation }) => {
    if (!operation.startsWith('pageBy')) return undefined
    pages++
    return {
      before: () =>
        isSilent ? Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It sleeps.')) : undefined,
    }
  })
  store = await DataStore.open({ shards: keepOpen(counting), migrate: true, onWarning: () => {} })
  invocation = { openStore: async () => store, signal: new AbortController().signal } as unknown as Invocation
  bodiesOf = cachedBodies(readBodies)
  pages = 0
  return async () => {
    await store.close()
    await driver.close()
  }
})

test('a sample of bodies without a problem is cached for a minute', async () => {
  await store.put({ n: 1 })
  expect(await bodiesOf(invocation)).toMatchObject({ bodies: 1, undecodable: 0 })
  await store.put({ n: 2 })
  vi.advanceTimersByTime(59_999)
  expect(await bodiesOf(invocation)).toMatchObject({ bodies: 1 })
  expect(pages).toBe(2)
  vi.advanceTimersByTime(1)
  expect(await bodiesOf(invocation)).toMatchObject({ bodies: 2 })
  expect(pages).toBe(4)
})

test('a sample of bodies with a problem is not cached, so a repair shows at once', async () => {
  const { id } = await store.put({ n: 1 })
  const { entities } = store.context.driver.shards[0]!
  const [row] = await entities.pageByAdded(0, 1)
  const { version } = row!
  const epoch = store.context.catalog.current().epochs[0]!
  await entities.replace([{ id: row!.id, base: version, version: version + 1, body: Buffer.from([250]) }], {
    epoch,
  })
  for (let look = 1; look <= 2; look++) {
    expect(await bodiesOf(invocation)).toMatchObject({ undecodable: 1 })
    expect(pages).toBe(1 + 2 * look)
  }
  await store.delete(id)
  expect(await bodiesOf(invocation)).toMatchObject({ undecodable: 0 })
})

test('a sample of bodies with a silent shard is not cached', async () => {
  await store.put({ n: 1 })
  isSilent = true
  expect(await bodiesOf(invocation)).toMatchObject({ isWhole: false, bodies: 0 })
  isSilent = false
  expect(await bodiesOf(invocation)).toMatchObject({ isWhole: true, bodies: 1 })
})
