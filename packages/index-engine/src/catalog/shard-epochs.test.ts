import type { Driver, Shard } from '@looseleaf/core'
import type { ShardCatalog, ShardServes, StoreLayout } from '@looseleaf/core/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { catalogOf } from '@looseleaf-tooling/kit/catalogs'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, test } from 'vitest'
import { contentsEpochOf, latestLayout } from './catalog.ts'
import { changeCatalogContents, propagateCatalog } from './change-catalog.ts'
import { changeServes } from './shard-epochs.ts'

const serves: ShardServes = { owns: '0-2047' }
const layout: StoreLayout = {
  revision: 1,
  scheme: 'buckets-1',
  shards: [
    { name: 'a', buckets: '0-2047' },
    { name: 'b', buckets: '2048-4095' },
  ],
  moves: [],
}

/** Clocks of the shards, in microseconds. */
let now: [number, number]
let reference: ReferenceDriver
let plan: FaultPlan
let driver: Driver

beforeEach(async () => {
  now = [1_000, 1_000]
  plan = () => undefined
  reference = createReferenceDriver({ shards: 2, now: (number) => now[number]! })
  driver = faultyDriver(reference, (call) => plan(call))
  for (const [shardNumber, { catalog }] of reference.shards.entries())
    await catalog.init(catalogOf({ shardNumber, shardCount: 2, epoch: 5, layout }))
})

const shard = (number: number): Shard => driver.shards[number]!
const stored = (number: number): ShardCatalog => reference.shards[number]!.contents()!
const epochs = (): [epoch: number, contents: number][] =>
  [0, 1].map((number) => [stored(number).epoch, contentsEpochOf(stored(number))])
const setDelay = (deleteDelayMs: number) =>
  changeCatalogContents(driver, (contents) => ({ ...contents, deleteDelayMs }))

describe('a change of the buckets that a shard serves', () => {
  test('a change of the buckets of one shard raises the epoch of that shard alone, and keeps the contents', async () => {
    const changed = await changeServes(shard(1), stored(1), serves)
    expect(changed).toEqual(stored(1))
    expect(changed).toMatchObject({ serves, layout, shardNumber: 1 })
    expect(epochs()).toEqual([
      [5, 5],
      [1_000, 5],
    ])
  })

  test('the epoch is one more than the last if the clock of the shard has gone back', async () => {
    now[1] = 3
    expect(await changeServes(shard(1), stored(1), serves)).toMatchObject({ epoch: 6 })
  })

  test('a change of a catalog that another process has changed returns undefined, and changes nothing', async () => {
    const before = stored(1)
    const first = await changeServes(shard(1), before, serves)
    now[1] = 2_000
    expect(await changeServes(shard(1), before, { owns: '' })).toBeUndefined()
    expect(stored(1)).toEqual(first)
  })

  test('a change reads the clock of its shard, unless it is given a reading, and sends one statement besides', async () => {
    const operations: string[] = []
    plan = ({ operation }) => {
      operations.push(operation)
      return undefined
    }
    const first = await changeServes(shard(1), stored(1), serves)
    expect(operations).toEqual(['now', 'change'])
    expect(await changeServes(shard(1), first!, { owns: '' }, { now: 1_500 })).toMatchObject({ epoch: 1_500 })
    expect(await changeServes(shard(1), stored(1), serves, { now: 1_200 })).toMatchObject({ epoch: 1_501 })
    expect(operations).toEqual(['now', 'change', 'change', 'change'])
    expect(stored(1)).toMatchObject({ epoch: 1_501, contentsEpoch: 5, serves })
  })
})

describe('a change of the contents while the epochs of the shards differ', () => {
  test('the contents of a later change reach a shard whose own epoch is greater, and its buckets stay', async () => {
    now = [2_000, 9_000]
    await changeServes(shard(1), stored(1), serves)
    await setDelay(7)
    expect(stored(1)).toMatchObject({ serves, deleteDelayMs: 7 })
    expect(epochs()).toEqual([
      [2_000, 2_000],
      [9_001, 2_000],
    ])
  })

  test('a shard with moves takes an epoch of its own clock with the contents of another', async () => {
    now = [2_000, 3_000]
    await setDelay(7)
    expect(epochs()).toEqual([
      [2_000, 2_000],
      [3_000, 2_000],
    ])
    // A clock that is behind shard 0 gives no epoch below that of the contents.
    now = [9_000, 4_000]
    await setDelay(8)
    expect(epochs()).toEqual([
      [9_000, 9_000],
      [9_000, 9_000],
    ])
  })

  test('the contents of a change have the epoch of shard 0, whose own buckets have changed before', async () => {
    await changeServes(shard(0), stored(0), serves)
    now = [2_000, 2_000]
    await setDelay(7)
    expect(epochs()).toEqual([
      [2_000, 2_000],
      [2_000, 2_000],
    ])
  })

  test('the epoch of a shard with buckets of its own grows with contents that know no moves', async () => {
    now = [2_000, 9_000]
    await changeServes(shard(1), stored(1), serves)
    const { moves: _, ...unmoved } = layout
    await changeCatalogContents(driver, (contents) => ({ ...contents, layout: unmoved }))
    expect(epochs()).toEqual([
      [2_000, 2_000],
      [9_001, 2_000],
    ])
  })

  test('shard 0 takes no contents from a shard with a greater epoch and the same contents', async () => {
    await changeServes(shard(1), stored(1), serves)
    const changes: number[] = []
    plan = ({ operation, shard: number }) => {
      if (operation === 'change') changes.push(number)
      return undefined
    }
    await propagateCatalog(driver)
    expect(changes).toEqual([])
  })

  test('shard 0 takes later contents from another shard although its own epoch is greater', async () => {
    await setDelay(7)
    const before = reference.shards[0]!.state()
    now = [3_000, 3_000]
    await setDelay(8)
    reference.shards[0]!.fallBack(before, 'everything')
    now[0] = 9_000
    await changeServes(shard(0), stored(0), serves)
    await propagateCatalog(driver)
    expect(stored(0)).toMatchObject({ serves, deleteDelayMs: 8, epoch: 9_001, contentsEpoch: 3_000 })
    expect(contentsEpochOf(stored(1))).toBe(3_000)
  })

  test('the layout of the latest contents counts, whichever shard has the greatest epoch', async () => {
    now[1] = 9_000
    await changeServes(shard(1), stored(1), serves)
    const earlier = stored(1)
    await changeCatalogContents(driver, (contents) => ({ ...contents, layout: { ...layout, revision: 2 } }))
    expect(earlier.epoch).toBeGreaterThan(stored(0).epoch)
    expect(latestLayout([stored(0), earlier])).toMatchObject({ revision: 2 })
    expect(latestLayout([earlier, stored(0)])).toMatchObject({ revision: 2 })
  })

  test('a store without moves has one epoch on all shards, and stores no other', async () => {
    const { moves: _, ...unmoved } = layout
    for (const each of [0, 1]) {
      const current = stored(each)
      await shard(each).catalog.change({ ...current, layout: unmoved }, current.epoch)
    }
    await setDelay(7)
    expect(epochs()).toEqual([
      [1_000, 1_000],
      [1_000, 1_000],
    ])
    for (const each of [0, 1]) expect(JSON.stringify(stored(each))).not.toMatch(/contentsEpoch|serves/)
  })
})
