import type { Driver, Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { faultyDriver } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { announcedMove } from './announced-move.ts'
import { contentsOf, filledStore, openStore, SOME_BUCKETS, stateOf } from './stores.ts'

const COUNT = 1_200

/** Half of the buckets of shard 1 in a store of two shards. */
const OTHER_BUCKETS = '2048-3071'

/** Scans a store, and calls `between` after this many entities. Returns the last state of each entity, and the number of repeats. */
async function scanAround(
  store: DataStore,
  after: number,
  between: () => Promise<unknown>,
): Promise<{ readonly found: ReadonlyMap<string, string>; readonly repeats: number }> {
  const found = new Map<string, string>()
  let count = 0
  for await (const entity of store.scan()) {
    found.set(entity.id, stateOf(entity))
    if (++count === after) await between()
  }
  return { found, repeats: count - found.size }
}

test.each([
  ['from the shard that is read first', { from: 0, to: 1, buckets: SOME_BUCKETS }, 1],
  ['from the shard that is read first, late', { from: 0, to: 1, buckets: SOME_BUCKETS }, 500],
  ['to the shard that is read first', { from: 1, to: 0, buckets: OTHER_BUCKETS }, 1],
  [
    'to the shard that is read first, when its table has been read',
    { from: 1, to: 0, buckets: OTHER_BUCKETS },
    900,
  ],
])('a scan misses no entity whose bucket moves %s', async (_, plan, after) => {
  const driver = await memoryShards(2).connect()
  // A mover waits until the looks of the scan are too old, so that has the same time.
  const time = leapingTime()
  const pauses: number[] = []
  const sleep: Time['sleep'] = (milliseconds, signal) => {
    pauses.push(milliseconds)
    return time.sleep(milliseconds, signal)
  }
  const store = await filledStore(driver, COUNT, { now: time.now, sleep })
  const other = await openStore(driver, time)
  const before = await contentsOf(store)
  const { found, repeats } = await scanAround(store, after, () => moveBuckets(other, plan))
  expect(found).toEqual(before)
  // The new owners serve the buckets, so the scan pauses for none.
  expect(pauses).not.toContain(50)
  // Only entities of moved buckets are read a second time.
  expect(repeats).toBeLessThan(before.size / 3)
})

/** Moves buckets by a process that calls `between` once, after or before a call of this operation on a shard. */
async function moveWith(
  driver: Driver,
  { operation, shard, when }: { operation: string; shard: number; when: 'before' | 'after' },
  between: () => Promise<unknown>,
): Promise<void> {
  let called: Promise<unknown> | undefined
  const watched = faultyDriver(driver, (call) =>
    call.operation === operation && call.shard === shard
      ? { [when]: async () => void (await (called ??= between())) }
      : undefined,
  )
  const mover = await openStore(watched, leapingTime())
  await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })
  expect(called).toBeDefined()
}

test('a scan during a move gives each entity once, and no copy of it', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const before = await contentsOf(store)
  await moveWith(driver, { operation: 'receive', shard: 1, when: 'after' }, async () =>
    expect(await contentsOf(store)).toEqual(before),
  )
})

test('a scan gives no entity that was deleted at its new shard, although the old one still has it', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 200)
  const ids = [...(await contentsOf(store)).keys()]
  await moveWith(driver, { operation: 'discard', shard: 0, when: 'before' }, async () => {
    await Promise.all(ids.map((id) => store.delete(id)))
    expect(await contentsOf(store)).toEqual(new Map())
  })
})

test('a scan without moves sends no statement besides its pages but one look at each shard', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 1_200)
  const sent: string[] = []
  const watched = faultyDriver(driver, ({ operation, shard }) => void sent.push(`${operation} ${shard}`))
  const store = await openStore(watched, leapingTime())
  sent.length = 0
  await contentsOf(store)
  const pages = (shard: number): number => sent.filter((call) => call === `pageByAdded ${shard}`).length
  expect(pages(0)).toBeGreaterThan(1)
  expect(sent.filter((call) => !call.startsWith('pageByAdded'))).toEqual(['floor 0', 'floor 1'])
})

test('a scan of a bucket that no shard serves is SHARD_BUSY in the end', async () => {
  const moving = await announcedMove()
  await moving.setServes(0, { owns: '10-1365' })
  const store = await openStore(moving.driver, leapingTime())
  await expect(contentsOf(store)).rejects.toMatchObject({ code: 'SHARD_BUSY' })
})
