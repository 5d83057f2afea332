import type { EntityId, Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { watch, type WatchStore } from './watch.ts'

const byUser = defineIndex('holds_by_user', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
  expires: 'lease.until',
})

const HOUR = 3_600_000

let aheadMs: number
/** Sleeps of this clock that have not ended. */
let sleeping: number
let store: DataStore

/** A clock that a test can set forward. */
const time: Time = {
  ...systemTime,
  now: () => systemTime.now() + aheadMs,
  async sleep(milliseconds, signal) {
    sleeping++
    await systemTime.sleep(milliseconds, signal).finally(() => sleeping--)
  },
}

beforeEach(async () => {
  aheadMs = 0
  sleeping = 0
  store = await DataStore.open({
    shards: memoryShards(2),
    indexes: [byUser],
    migrate: true,
    time,
  })
})

afterEach(() => store.close())

async function hold(n: number, milliseconds: number | null): Promise<EntityId> {
  const until = milliseconds === null ? null : new Date(time.now() + milliseconds)
  return (await store.put({ user: 'ada', n, lease: { until } })).id
}

function watching(limit: number) {
  const pages = watch(store, byUser, { user: 'ada' }, { limit })
  return {
    pages,
    async next() {
      const { value } = await pages.next()
      if (value === undefined) throw new Error('There are no more pages.')
      return { items: value.items.map(({ n }) => n), left: value.removed.map(({ n }) => n) }
    },
  }
}

it('an item leaves a watched page at the time of its expiry, and the page is full again, without a cleaner', async () => {
  const until = time.now() + HOUR
  await hold(1, HOUR)
  await hold(2, null)
  await hold(3, 2 * HOUR)
  const { pages, next } = watching(2)
  expect(await next()).toEqual({ items: [1, 2], left: [] })
  aheadMs = HOUR - 500
  expect(await next()).toEqual({ items: [2, 3], left: [1] })
  expect(time.now()).toBeGreaterThanOrEqual(until)
  await pages.return()
})

it('an item whose time is extended stays on a watched page', async () => {
  const id = await hold(1, HOUR)
  const { pages, next } = watching(2)
  await next()
  await store.put({ user: 'ada', n: 1, lease: { until: null } }, { id })
  expect(await next()).toEqual({ items: [1], left: [] })
  aheadMs = 2 * HOUR
  await hold(2, null)
  expect(await next()).toEqual({ items: [1, 2], left: [] })
  await pages.return()
})

it('a page that its last loop left during a query waits for no expiry', async () => {
  await hold(1, HOUR)
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const slow: WatchStore = {
    context: store.context,
    async query(...args: Parameters<DataStore['query']>) {
      const page = await store.query(...args)
      asked.resolve()
      await answer.promise
      return page
    },
  } as WatchStore
  const ended = new AbortController()
  const { signal } = ended
  const first = watch(slow, byUser, { user: 'ada' }, { signal }).next()
  await asked.promise
  ended.abort()
  expect((await first).done).toBe(true)
  // The follower of the changes sleeps until it notices the end.
  await expect.poll(() => sleeping).toBe(0)
  answer.resolve()
  await new Promise((done) => setImmediate(done))
  expect(sleeping).toBe(0)
})
