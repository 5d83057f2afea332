import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkIndex } from '@looseleaf/cleaner'
import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type Driver, type DriverFactory } from '@looseleaf/core'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { dyingDriver } from '../../../cleaner/test/broken-driver.ts'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { back, COUNT, expectFilled, filling, moving, shardsWithoutIndexes, there } from './fillings.ts'
import {
  checkIndexes,
  checkQueries,
  fill,
  filledStore,
  indexes,
  itemOf,
  openStore,
  type Item,
} from './stores.ts'

/** The time of all processes: a mover waits until the looks of the others are too old. */
let time: LeapingTime

/** Returns the shards of a store without indexes, with a new time. */
async function newShards(): Promise<Driver> {
  time = leapingTime()
  return shardsWithoutIndexes(time)
}

/** Opens a store, and calls `before` before each of its later calls to a shard, with their number. */
async function openWatched(driver: Driver, before: (calls: number) => Promise<unknown>): Promise<DataStore> {
  let calls = 0
  let isOpen = false
  const watched = faultyDriver(driver, () => ({
    before: async () => void (isOpen && (await before(++calls))),
  }))
  const store = await openStore(watched, time)
  isOpen = true
  return store
}

/** Opens a store that adds no index, and calls `before` before each call to a shard, with their number. */
function openUnaware(driver: Driver, before: (calls: number) => Promise<unknown>): Promise<DataStore> {
  let calls = 0
  const watched = faultyDriver(driver, () => ({ before: async () => void (await before(++calls)) }))
  return DataStore.open({ shards: keepOpen(watched), queryTimeMs: 5_000, time })
}

async function move(driver: Driver, plan: typeof there): Promise<void> {
  const mover = await openStore(driver, time)
  expect(await moveBuckets(mover, plan, moving)).toMatchObject({ state: 'done' })
}

/** Some calls of a process, until it makes no more; in the long form more of them. */
function* callsUntil(isOver: () => boolean, first: number, step: number): Generator<number> {
  for (let calls = isLong ? 1 : first; !isOver(); calls += isLong ? 7 : step) yield calls
}

test('a filling misses no entity whose bucket moves before any of its calls', async () => {
  let isOver = false
  for (const at of callsUntil(() => isOver, 20, 97)) {
    const driver = await newShards()
    isOver = true
    const filler = await openWatched(driver, async (calls) => {
      if (calls !== at) return
      isOver = false
      await move(driver, there)
    })
    expect(await tunedCleanIndex(filler, undefined, filling)).toMatchObject({ complete: true })
    if (!isOver) await expectFilled(driver)
    await driver.close()
  }
}, 600_000)

test('a filling misses no entity whose bucket moves there and back between its calls', async () => {
  let isOver = false
  for (const at of callsUntil(() => isOver, 30, 101)) {
    const driver = await newShards()
    isOver = true
    let moved = Promise.resolve()
    const filler = await openWatched(driver, async (calls) => {
      // The parts of the shards go on at the same time.
      if (calls === at) await (moved = move(driver, there))
      if (calls !== at + 25) return
      isOver = false
      await moved.then(() => move(driver, back))
    })
    expect(await tunedCleanIndex(filler, undefined, filling)).toMatchObject({ complete: true })
    if (!isOver) await expectFilled(driver)
    await driver.close()
  }
}, 600_000)

test('indexes that are added and filled before any call of a mover are complete after the move', async () => {
  let isOver = false
  for (const at of callsUntil(() => isOver, 5, 53)) {
    const driver = await newShards()
    isOver = true
    const mover = await openUnaware(driver, async (calls) => {
      if (calls !== at) return
      isOver = false
      const filler = await openStore(driver, time)
      expect(await tunedCleanIndex(filler, undefined, filling)).toMatchObject({ complete: true })
    })
    expect(await moveBuckets(mover, there, moving)).toMatchObject({ state: 'done' })
    if (!isOver) await expectFilled(driver)
    await driver.close()
  }
}, 600_000)

test('an index is filled although its filler and a mover die, at whatever call', async () => {
  let isOver = false
  for (const at of callsUntil(() => isOver, 10, 97)) {
    const driver = await newShards()
    isOver = true
    const die = async (work: (store: DataStore) => Promise<unknown>, withEffect: boolean): Promise<void> => {
      const dying = dyingDriver(driver, { withEffect })
      const store = await openStore(dying.driver, time)
      dying.dieAfter(at)
      try {
        await work(store)
      } catch (error) {
        if (!isLooseleafError(error, 'CLOSED')) throw error
        isOver = false
      }
    }
    await die((store) => tunedCleanIndex(store, undefined, filling), true)
    await die((store) => moveBuckets(store, there, moving), false)
    await die((store) => tunedCleanIndex(store, undefined, filling), false)
    const other = await openStore(driver, time)
    await resumeMoves(other, moving)
    expect(await tunedCleanIndex(other, undefined, filling)).toMatchObject({ complete: true })
    await expectFilled(driver)
    await driver.close()
  }
}, 600_000)

test.each([
  ['reads the entities', 1],
  ['checks them', 2],
])('an index is filled although a shard joins and takes buckets while the filler %s', async (_, reading) => {
  time = leapingTime()
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-fillings-'))
  try {
    const shards = sqliteShards({ folder, shards: 2, durability: 'normal' })
    const open = (
      given: DriverFactory,
      options: { readonly indexes?: typeof indexes } = {},
    ): Promise<DataStore> =>
      DataStore.open({
        shards: given,
        migrate: true,
        queryTimeMs: 5_000,
        time,
        onWarning: () => {},
        ...options,
      })
    await using store = await open(shards)
    await fill(store, COUNT)
    let isOpen = false
    let readings = 0
    const watched: DriverFactory = {
      shardCount: 2,
      connect: async (options) =>
        faultyDriver(await shards.connect(options), ({ operation, shard, args: [after] }) => ({
          before: async () => {
            const begins = operation === 'pageByAdded' && shard === 1 && after === 0
            if (!isOpen || !begins || ++readings !== reading) return
            await store.shards.add('shard-2.sqlite')
            const moved = await moveBuckets(store, { ...there, to: 2, buckets: '0-2047' }, moving)
            expect(moved).toMatchObject({ state: 'done' })
          },
        })),
    }
    await using filler = await open(watched, { indexes })
    isOpen = true
    const cleaned = await tunedCleanIndex(filler, undefined, { ...filling, shardsAtOnce: 1 })
    expect(cleaned).toMatchObject({ complete: true })
    expect(readings).toBeGreaterThanOrEqual(reading)
    await using fresh = await open(shards, { indexes })
    await checkQueries(fresh)
    await checkIndexes(fresh)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('an index is filled while a move is undone', async () => {
  for (const [deadAfter, at] of [
    [30, 3],
    [60, 12],
  ] as const) {
    const driver = await newShards()
    const dying = dyingDriver(driver, { withEffect: true })
    const mover = await DataStore.open({ shards: keepOpen(dying.driver), time })
    dying.dieAfter(deadAfter)
    await expect(moveBuckets(mover, there, moving)).rejects.toMatchObject({ code: 'CLOSED' })
    let cleaned: unknown
    const undoer = await openUnaware(driver, async (calls) => {
      if (calls !== at) return
      cleaned = await tunedCleanIndex(await openStore(driver, time), undefined, filling)
    })
    const [open] = await movesOf(undoer)
    expect(await undoMove(undoer, open!.id, moving)).toMatchObject({ state: 'undone' })
    expect(cleaned).toMatchObject({ complete: true })
    await expectFilled(driver)
    await driver.close()
  }
}, 600_000)

test('a unique index with duplicates delays no move, and becomes ready once they are gone', async () => {
  const twin = (n: number): Item => ({ ...itemOf(n), name: `twin ${n}` })
  for (const at of [20, 130]) {
    const driver = await newShards()
    const early = await DataStore.open({ shards: keepOpen(driver), time })
    const twins = await early.putMany([...Array(16).keys()].map((n) => ({ ...twin(n % 8) })))
    const store = await openStore(driver, time)
    const clean = async (): Promise<unknown> =>
      tunedCleanIndex(await openStore(driver, time), undefined, filling)
    let cleaned: unknown
    const mover = await openWatched(driver, async (calls) => {
      if (calls === at) cleaned = await clean()
    })
    expect(await moveBuckets(mover, there, moving)).toMatchObject({ state: 'done' })
    expect(cleaned).toMatchObject({ complete: false })
    expect(await clean()).toMatchObject({ complete: false })

    await Promise.all(twins.slice(0, 8).map(({ id }) => store.delete(id)))
    expect(await clean()).toMatchObject({ complete: true })
    await expectFilled(driver)
    for (const n of [0, 1, 2, 3])
      await expect(store.put({ ...twin(n) })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    await driver.close()
  }
}, 600_000)

test('a new generation is filled during a move, and the older one serves its queries until then', async () => {
  time = leapingTime()
  const driver = await memoryShards(2).connect()
  await filledStore(driver, COUNT, time)
  const changed = defineIndex('by_user', {
    properties: { user: 'string', rank: 'integer', name: 'string' },
    shardOn: 'user',
  })
  const store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: [changed],
    migrate: true,
    time,
  })
  const found = async (): Promise<number> => (await changed.getAll(store, { user: 'user 3' })).length
  const before = await found()
  let isFilled = false
  const mover = await openUnaware(driver, async (calls) => {
    if (calls !== 150) return
    expect(await found()).toBe(before)
    const filler = await openStore(driver, time)
    expect(await tunedCleanIndex(filler, 'by_user', filling)).toMatchObject({ complete: true })
    isFilled = true
  })
  expect(await moveBuckets(mover, there, moving)).toMatchObject({ state: 'done' })
  expect(isFilled).toBe(true)
  expect(await store.hideIndex({ name: 'by_user', generation: 1 })).toBe(true)
  expect(await found()).toBe(before)
  for (const generation of [1, 2])
    expect(await checkIndex(store, { name: 'by_user', generation })).toMatchObject({
      missing: 0,
      dangling: 0,
    })
  await driver.close()
})

test.each([
  ['hidden', (store: DataStore) => store.hideIndex('by_rank'), { complete: false }],
  ['dropped', (store: DataStore) => store.dropIndex('by_rank'), 'INDEX_NOT_FOUND'],
] as const)('a move goes on while an index that is being filled is %s', async (_, change, outcome) => {
  const driver = await newShards()
  const ended: unknown[] = []
  const mover = await openUnaware(driver, async (calls) => {
    if (calls !== 120) return
    const filler = await openWatched(driver, async (call) => {
      if (call === 60) expect(await change(await openStore(driver))).toBe(true)
    })
    ended.push(
      await tunedCleanIndex(filler, undefined, filling).catch((error: unknown) =>
        isLooseleafError(error) ? error.code : error,
      ),
    )
  })
  expect(await moveBuckets(mover, there, moving)).toMatchObject({ state: 'done' })
  expect(ended).toMatchObject([outcome])
  const store = await openStore(driver, time)
  await store.restoreIndex('by_rank')
  expect(await tunedCleanIndex(store, undefined, filling)).toMatchObject({ complete: true })
  await expectFilled(driver)
  await driver.close()
})
