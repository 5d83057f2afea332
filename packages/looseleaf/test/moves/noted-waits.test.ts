import { LooseleafError, parseId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { createBucketWait, waitsFromText, waitsTask, type NotedWaits } from '@looseleaf/protocol/internal'
import { bucketOfId } from '@looseleaf/router'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handOverOf, type HandOver } from '../../../store/test/hand-over.ts'
import { openStore } from './stores.ts'

const GROUP = '0-99'
const WAIT = { timeout: 10_000 }

let driver: Driver
let move: HandOver
let store: DataStore
let time: LeapingTime
/** Ends the second before the next note. */
let endSecond: () => void
/** True while a second has not ended, so that a note is to come. */
let isAsleep: boolean
/** Failures of the saves of notes that are to come. */
let failures: number
let saves: number
/** Seconds before notes that have begun. */
let seconds: number
/** Runs before the next note fails. */
let beforeFailure: () => Promise<void>
/** The seal is renewed at the first look from this time on, which ends a wait. */
let renewsAt: number

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  await (await openStore(driver)).close()
  time = leapingTime()
  failures = 0
  saves = 0
  seconds = 0
  beforeFailure = async () => undefined
  renewsAt = Infinity
  isAsleep = false
  const failing = faultyDriver(driver, ({ shard, table, operation, args: [task] }) => {
    if (table === 'catalog' && operation === 'load' && time.now() >= renewsAt) {
      renewsAt = Infinity
      return { before: () => move.seal(GROUP) }
    }
    if (shard !== 1 || table !== 'tasks' || operation !== 'claim' || task !== waitsTask(1)) return undefined
    saves++
    if (failures-- <= 0) return undefined
    return {
      async before() {
        await beforeFailure()
        throw new LooseleafError('SHARD_DENIED', 'It is denied.')
      },
    }
  })
  store = await openStore(failing, { ...time, sleep })
  move = handOverOf(driver)
  await move.begin()
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

/** A second, and the time in which the store closes, do not end before the test ends it. As of a real clock, an abort rejects. */
async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (milliseconds < 500) return time.sleep(milliseconds, signal)
  if (milliseconds === 1_000) seconds++
  await new Promise<void>((resolve, reject) => {
    endSecond = resolve
    isAsleep = true
    const abort = (): void => reject(signal!.reason as Error)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Seals the group, and waits until the call takes the seal away after `milliseconds`. */
async function waitFor(milliseconds: number, wait = createBucketWait(store.context)): Promise<void> {
  await move.seal(GROUP)
  const { placement } = await store.context.catalog.reload()
  let id = parseId(store.newId())
  while (bucketOfId(id) > 99) id = parseId(store.newId())
  expect(placement.isSealed(id)).toBe(true)
  const began = time.now()
  await wait(id, store.context.catalog.current(), {})
  expect(time.now() - began).toBe(milliseconds)
}

async function noted(): Promise<NotedWaits | undefined> {
  const states = await driver.shards[1]!.tasks.loadAll([waitsTask(1)])
  return waitsFromText(states.get(waitsTask(1))?.progress ?? '')
}

/** Ends a second, and waits until a note was tried so many times in all; then for the next second if the note is to be made again. */
async function noteNow(tried: number, isAgain = false): Promise<void> {
  await expect.poll(() => isAsleep, WAIT).toBe(true)
  isAsleep = false
  endSecond()
  await expect.poll(() => saves, WAIT).toBe(tried)
  if (isAgain) await expect.poll(() => isAsleep, WAIT).toBe(true)
  else await expect.poll(noted, WAIT).toBeDefined()
}

test('the waits of a second are noted together, and those of later seconds are added', async () => {
  await waitFor(1_000)
  await waitFor(100, createBucketWait(store.context, time.now() + 100))
  expect(await noted()).toBeUndefined()
  expect(seconds).toBe(1)
  await noteNow(1)
  expect(await noted()).toEqual({ calls: 2, longestMs: 1_000 })
  await waitFor(40, createBucketWait(store.context, time.now() + 40))
  await noteNow(2)
  await expect.poll(noted, WAIT).toEqual({ calls: 3, longestMs: 1_000 })
})

test('a call that waits several times counts once, with the sum of its waits', async () => {
  const wait = createBucketWait(store.context, time.now() + 70)
  renewsAt = time.now() + 20
  await waitFor(22, wait)
  await waitFor(48, wait)
  await waitFor(0, wait)
  await noteNow(1)
  expect(await noted()).toEqual({ calls: 1, longestMs: 70 })
})

test('a note that fails is made again with the waits since', async () => {
  failures = 1
  await waitFor(50, createBucketWait(store.context, time.now() + 50))
  await noteNow(1, true)
  expect(await noted()).toBeUndefined()
  await waitFor(60, createBucketWait(store.context, time.now() + 60))
  await noteNow(2)
  expect(await noted()).toEqual({ calls: 2, longestMs: 60 })
})

test('a wait during a note that fails is noted with the waits before it', async () => {
  failures = 1
  beforeFailure = () => waitFor(60, createBucketWait(store.context, time.now() + 60))
  await waitFor(50, createBucketWait(store.context, time.now() + 50))
  await noteNow(1, true)
  await noteNow(2)
  expect(await noted()).toEqual({ calls: 2, longestMs: 60 })
})

test('a note is given up after ten failures, and later waits are noted', async () => {
  failures = 10
  await waitFor(50, createBucketWait(store.context, time.now() + 50))
  for (let tried = 1; tried < 10; tried++) await noteNow(tried, true)
  endSecond()
  await expect.poll(() => saves, WAIT).toBe(10)
  expect(await noted()).toBeUndefined()
  isAsleep = false
  await waitFor(30, createBucketWait(store.context, time.now() + 30))
  await noteNow(11)
  expect(await noted()).toEqual({ calls: 1, longestMs: 30 })
})

test('a store that closes saves its last note', async () => {
  await waitFor(50, createBucketWait(store.context, time.now() + 50))
  await store.close()
  expect(await noted()).toEqual({ calls: 1, longestMs: 50 })
})

test('a store that closes tries its last note once', async () => {
  failures = 1
  await waitFor(50, createBucketWait(store.context, time.now() + 50))
  await store.close()
  await new Promise((resolve) => setImmediate(resolve))
  expect([saves, await noted()]).toEqual([1, undefined])
})

test('a wait for a bucket of no announced move is not noted', async () => {
  const { placement, ...catalog } = store.context.catalog.current()
  const id = parseId(store.newId())
  await createBucketWait(store.context)(
    id,
    { ...catalog, placement, layout: { ...catalog.layout!, moves: [] } },
    {},
  )
  await store.close()
  expect([saves, await noted()]).toEqual([0, undefined])
})
