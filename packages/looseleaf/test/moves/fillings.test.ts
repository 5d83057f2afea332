import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { moveBuckets, resumeMoves } from '@looseleaf/mover/internal'
import { announceMove } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, test } from 'vitest'
import { back, expectFilled, filling, moving, shardsWithoutIndexes, there } from './fillings.ts'
import { contentsOf, openStore } from './stores.ts'

/** The time of all processes: a mover waits until the looks of the others are too old. */
let time: LeapingTime

beforeEach(() => {
  time = leapingTime()
})

test('a filling reads buckets that were always on the other shard when it read a shard', async () => {
  const driver = await shardsWithoutIndexes(time)
  const mover = await openStore(driver, time)
  const moves: number[] = []
  /** The shard of the buckets. */
  let owner = 0
  let isOpen = false
  const watched = faultyDriver(driver, ({ operation, shard, args: [after] }) => ({
    before: async () => {
      if (!isOpen || operation !== 'pageByAdded' || after !== 0 || owner !== shard) return
      owner = 1 - shard
      moves.push(shard)
      await moveBuckets(mover, shard === 0 ? there : back, moving)
    },
  }))
  const filler = await openStore(watched, time)
  isOpen = true
  const cleaned = await tunedCleanIndex(filler, undefined, { ...filling, shardsAtOnce: 1 })
  expect(cleaned).toMatchObject({ complete: true })
  expect(moves).toEqual([0, 1, 0, 1])
  await expectFilled(driver)
})

test('the check of a filling leaves rows to the mover that will copy them', async () => {
  const driver = await shardsWithoutIndexes(time)
  const other = await openStore(driver, time)
  let isOpen = false
  let announced: Promise<unknown> | undefined
  const watched = faultyDriver(driver, ({ operation }) => ({
    before: async () => {
      // The filling has written its rows, and goes through them before its check.
      if (isOpen && operation === 'scan') await (announced ??= announceMove(other.context, there))
    },
  }))
  const filler = await openStore(watched, time)
  isOpen = true
  const cleaned = await tunedCleanIndex(filler, undefined, filling)
  expect(announced).toBeDefined()
  const { added } = cleaned.indexes.find(({ index }) => index === 'by_user')!
  expect(added).toBe((await contentsOf(other)).size)
  await resumeMoves(other, moving)
  await expectFilled(driver)
  await driver.close()
})

test('a filling lets a shard begin with buckets that a dead mover has handed over to it', async () => {
  const driver = await shardsWithoutIndexes(time)
  const dying = faultyDriver(driver, ({ shard, table, operation, args: [next] }) =>
    shard === 0 && table === 'catalog' && operation === 'change' && (next as ShardCatalog).serves?.away
      ? { crash: 'after' }
      : undefined,
  )
  const mover = await DataStore.open({ shards: keepOpen(dying), time })
  void moveBuckets(mover, there, moving)
  await dying.crashed
  const filler = await openStore(driver, time)
  let waits = 0
  const cleaned = await tunedCleanIndex(filler, undefined, { ...filling, onWait: () => void waits++ })
  expect(cleaned).toMatchObject({ complete: true })
  expect(waits).toBe(0)
  time.leap(60_000)
  await resumeMoves(await openStore(driver, time), moving)
  await expectFilled(driver)
})
