import { formatId, LooseleafError, parseId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { createBucketWait, loadOwn } from '@looseleaf/protocol/internal'
import { bucketOfId } from '@looseleaf/router'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handOverOf, type HandOver } from '../../../store/test/hand-over.ts'
import { announcedMove, OWNED } from './announced-move.ts'
import { openStore } from './stores.ts'

const GROUP = '0-99'

let driver: Driver
let move: HandOver
let store: DataStore
let time: LeapingTime
let plan: (call: FaultyCall) => Fault | undefined
/** Looks at the catalog of shard 0, and changes of it, by the waiting process. */
let looks: number
let changes: number
/** Sleeps of the waiting process that have not ended. */
let asleep: number

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  await (await openStore(driver)).close()
  plan = () => undefined
  asleep = 0
  time = leapingTime()
  store = await openStore(
    faultyDriver(driver, (call) => {
      if (call.shard === 0 && call.table === 'catalog') {
        if (call.operation === 'load') looks++
        if (call.operation === 'change') changes++
      }
      return plan(call)
    }),
    { ...time, sleep: sleepUnlessNoting },
  )
  move = handOverOf(driver)
  await move.begin()
  await move.seal(GROUP)
  await store.context.catalog.reload()
  looks = 0
  changes = 0
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

/** Sleeps, but never ends the second before waits are noted, which must not advance the time of the waits. */
async function sleepUnlessNoting(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (milliseconds < 1_000) {
    asleep++
    await time.sleep(milliseconds, signal).finally(() => asleep--)
    return
  }
  await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }))
}

function idIn(from: number, to: number): Uint8Array {
  for (;;) {
    const id = parseId(store.newId())
    const bucket = bucketOfId(id)
    if (bucket >= from && bucket <= to) return id
  }
}

/** Waits once for a sealed bucket, and returns the milliseconds. */
async function waitOnce(
  wait = createBucketWait(store.context),
  options: { readonly signal?: AbortSignal } = {},
): Promise<number> {
  const began = time.now()
  await wait(idIn(0, 99), store.context.catalog.current(), options)
  return time.now() - began
}

const sealedGroup = async (): Promise<string | undefined> =>
  (await loadOwn(store.context, 0, {})).serves.leaving?.[0]?.sealed

test('a write takes a seal away after a second, and looks at the shard every five milliseconds until then', async () => {
  const asleepAtLooks = new Set<number>()
  plan = () => void asleepAtLooks.add(asleep)
  expect(await waitOnce()).toBe(1_000)
  expect(await sealedGroup()).toBeUndefined()
  expect(changes).toBe(1)
  expect(asleepAtLooks).toEqual(new Set([0]))
  // Looks after 1, 2, 4 and 5 ms, and then every five; and around the change.
  expect(looks).toBeGreaterThan(200)
  expect(looks).toBeLessThan(212)
})

test('all waits of a process share the looks and take the seal away once', async () => {
  const waits = await Promise.all(Array.from({ length: 20 }, () => waitOnce()))
  expect(new Set(waits)).toEqual(new Set([1_000]))
  expect(changes).toBe(1)
  expect(looks).toBeLessThan(212)
})

test('a seal is taken away once, although its shard answers late', async () => {
  plan = ({ operation }) =>
    operation === 'change'
      ? {
          async before() {
            for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve))
          },
        }
      : undefined
  await waitOnce()
  expect(changes).toBe(1)
})

test('a wait ends when the seal ends, and a later one begins with new looks', async () => {
  const waiting = waitOnce()
  await move.giveUp(GROUP)
  await move.beginAtTarget(GROUP)
  expect(await waiting).toBeLessThan(1_000)
  expect(changes).toBe(0)
  await move.seal('100-199')
  await store.context.catalog.reload()
  const began = time.now()
  await createBucketWait(store.context)(idIn(100, 199), store.context.catalog.current(), {})
  expect(time.now() - began).toBe(1_000)
  expect(changes).toBe(1)
})

test('the waits of one write have one second together', async () => {
  const wait = createBucketWait(store.context)
  let isResealed = false
  plan = ({ shard, table, operation }) => {
    if (shard !== 0 || table !== 'catalog' || operation !== 'load' || isResealed || time.now() < until)
      return undefined
    isResealed = true
    return { before: () => move.seal(GROUP) }
  }
  const until = time.now() + 600
  const first = await waitOnce(wait)
  expect(first).toBeGreaterThanOrEqual(600)
  expect(first).toBeLessThan(610)
  expect(await sealedGroup()).toBe(GROUP)
  expect(await waitOnce(wait)).toBe(1_000 - first)
  expect(await sealedGroup()).toBeUndefined()
  await move.seal(GROUP)
  await store.context.catalog.reload()
  // Its patience is over.
  expect(await waitOnce(wait)).toBe(0)
  expect(await sealedGroup()).toBeUndefined()
})

test('a wait ends at the end of its call, and leaves the seal', async () => {
  expect(await waitOnce(createBucketWait(store.context, time.now() + 100))).toBe(100)
  looks = 0
  expect(await waitOnce(createBucketWait(store.context, time.now()))).toBe(0)
  expect(looks).toBe(1)
  expect([changes, await sealedGroup()]).toEqual([0, GROUP])
})

test('a wait that is aborted rejects, and no look follows', async () => {
  const aborter = new AbortController()
  plan = ({ operation }) =>
    operation === 'load' && looks === 3 ? { after: () => aborter.abort() } : undefined
  await expect(waitOnce(undefined, { signal: aborter.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(looks).toBeLessThan(6)
  expect(changes).toBe(0)
})

test('all waits reject with the error of a shard that does not answer', async () => {
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')
  plan = ({ operation }) =>
    operation === 'load' && looks > 3 ? { before: () => Promise.reject(down) } : undefined
  const waits = await Promise.allSettled([waitOnce(), waitOnce()])
  expect(waits).toMatchObject([
    { status: 'rejected', reason: { code: 'SHARD_UNAVAILABLE' } },
    { status: 'rejected', reason: { code: 'SHARD_UNAVAILABLE' } },
  ])
  plan = () => undefined
  expect(await waitOnce()).toBe(1_000)
})

test('a seal that another process has renewed is left to that', async () => {
  let isRenewed = false
  plan = ({ shard, operation }) => {
    if (shard !== 0 || operation !== 'load' || isRenewed || time.now() < until) return undefined
    isRenewed = true
    return { after: () => move.seal(GROUP) }
  }
  const until = time.now() + 1_000
  await waitOnce()
  expect(await sealedGroup()).toBe(GROUP)
})

test('a bucket that was given up begins at its new shard if its mover does not begin it within some 30 milliseconds', async () => {
  await move.giveUp(GROUP)
  await store.context.catalog.reload()
  const id = idIn(0, 99)
  const wait = createBucketWait(store.context)
  const began = time.now()
  const asleepAtLooks = new Set<number>()
  let loadedSince: number[] = []
  plan = ({ shard, table, operation }) => {
    asleepAtLooks.add(asleep)
    if (table !== 'catalog') return
    if (operation === 'change') loadedSince = []
    if (operation === 'load') loadedSince.push(shard)
  }
  await wait(id, store.context.catalog.current(), {})
  expect(time.now() - began).toBe(31)
  expect(asleepAtLooks).toEqual(new Set([0]))
  // The other shards may be down.
  expect(loadedSince).toEqual([1])
  const { placement } = store.context.catalog.current()
  expect([placement.shardOfId(id), placement.isServed(id)]).toEqual([1, true])
  expect((await loadOwn(store.context, 1, {})).serves.arrived).toMatchObject([{ buckets: GROUP }])
})

test('a bucket that its mover begins is not begun by a write, which waits no longer', async () => {
  await move.giveUp(GROUP)
  await store.context.catalog.reload()
  const before = store.context.catalog.current()
  let loads = 0
  plan = ({ shard, table, operation }) =>
    shard === 1 && table === 'catalog' && operation === 'load' && ++loads === 3
      ? { before: () => move.beginAtTarget(GROUP) }
      : undefined
  const began = time.now()
  await createBucketWait(store.context)(idIn(0, 99), before, {})
  expect(time.now() - began).toBe(1 + 2)
})

test('a wait for a bucket ends at once when a crash of its old shard has undone the hand-over', async () => {
  const shard = driver.shards[0]!
  const { serves } = (await loadShardCatalog(shard))!
  await move.giveUp(GROUP)
  const before = await store.context.catalog.reload()
  await changeServes(shard, (await loadShardCatalog(shard))!, serves!)
  const id = idIn(0, 99)
  const began = time.now()
  await createBucketWait(store.context)(id, before, {})
  expect(time.now() - began).toBe(31)
  const { placement } = store.context.catalog.current()
  expect([placement.shardOfId(id), placement.isServed(id)]).toEqual([0, true])
})

test('a wait for a bucket ends at once when its new shard has given it up to a third one', async () => {
  const moving = await announcedMove()
  const { context } = moving.work
  const away = { move: 1, attempt: 1, buckets: '0-99', end: 1 }
  await moving.setServes(0, { owns: '100-1365', away: [{ ...away, to: 1 }] })
  const before = await context.catalog.reload()
  await moving.setServes(1, {
    owns: OWNED[1],
    arrived: [{ ...away, from: 0, begin: 2, afterAddedId: 0 }],
    away: [{ ...away, move: 2, to: 2 }],
  })
  const id = idIn(0, 99)
  const began = time.now()
  await createBucketWait({ ...context, time: { ...time, sleep: sleepUnlessNoting } })(id, before, {})
  expect(time.now()).toBe(began)
  expect(context.catalog.current().placement.shardOfId(id)).toBe(2)
})

test('a bucket that nobody can begin is looked at again after 50 milliseconds, or at the end of the call', async () => {
  await move.giveUp(GROUP)
  await store.context.catalog.reload()
  const shard = driver.shards[1]!
  const catalog = (await loadShardCatalog(shard))!
  await changeServes(shard, catalog, { ...catalog.serves!, coming: undefined })
  await store.context.catalog.reload()
  const before = store.context.catalog.current()
  const began = time.now()
  await createBucketWait(store.context)(idIn(0, 99), before, {})
  expect(time.now() - began).toBe(31 + 50)
  expect(asleep).toBe(0)
  const later = time.now()
  await createBucketWait(store.context, later + 10)(idIn(0, 99), before, {})
  expect(time.now() - later).toBe(10)
})

test('a write to a bucket that nobody can begin is DEADLINE at the end of its time, without an attempt', async () => {
  await move.giveUp(GROUP)
  const shard = driver.shards[1]!
  const catalog = (await loadShardCatalog(shard))!
  await changeServes(shard, catalog, { ...catalog.serves!, coming: undefined })
  await store.context.catalog.reload()
  const began = time.now()
  await expect(store.put({ name: 'ada' }, { id: formatId(idIn(0, 99)) })).rejects.toMatchObject({
    code: 'DEADLINE',
    message: expect.stringContaining('its bucket was being moved to another shard') as string,
  })
  expect(time.now() - began).toBe(30_000)
})
