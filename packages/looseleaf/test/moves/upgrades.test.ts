import { checkIndex } from '@looseleaf/cleaner'
import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineKind, indexesOf, typed, upgradeKinds } from '@looseleaf/kinds'
import { moveBuckets } from '@looseleaf/mover/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { SOME_BUCKETS } from './stores.ts'

const First = defineKind('person', { schema: typed<{ first: string }>() })
const Second = defineKind('person', {
  schema: typed<{ name: string }>(),
  indexes: { byName: { by: [{ name: 'string' }] } },
  upgrades: [({ first, ...others }) => ({ ...others, name: String(first) })],
})
const COUNT = 40

test('an index of a kind is filled, and its entities are upgraded, while buckets move', async () => {
  // A mover waits until the looks of the other processes are too old, so all have one time.
  const time = leapingTime()
  const driver = await memoryShards(2).connect()
  const open = (shards = driver): Promise<DataStore> =>
    DataStore.open({
      shards: keepOpen(shards),
      indexes: indexesOf(Second),
      migrate: true,
      queryTimeMs: 5_000,
      time,
    })
  const early = await DataStore.open({ shards: keepOpen(driver), migrate: true, time })
  for (let n = 0; n < COUNT; n++) await First.in(early).insert({ first: `name ${n}` })

  const store = await open()
  const mover = await open()
  const moves: number[] = []
  const move = async (from: number, to: number): Promise<void> => {
    await moveBuckets(mover, { from, to, buckets: SOME_BUCKETS }, { groups: 2 })
    moves.push(to)
  }
  let isOpen = false
  /** Moves the buckets when the upgrade, and then the filling, have read a shard. */
  const watched = faultyDriver(driver, ({ operation, shard }) => ({
    before: async () => {
      if (!isOpen || operation !== 'pageByAdded' || shard !== 1 || moves.length > 1) return
      await (moves.length === 0 ? move(0, 1) : move(1, 0))
    },
  }))
  const worker = await open(watched)
  isOpen = true
  const upgraded = await upgradeKinds(worker, [Second])
  expect(upgraded).toMatchObject({ upgraded: { person: COUNT }, complete: true })
  expect(moves).toEqual([1])
  expect(await tunedCleanIndex(worker, undefined, { pageSize: 10, settleMs: 1 })).toMatchObject({
    complete: true,
  })
  expect(moves).toEqual([1, 0])

  const people = Second.in(store)
  for (const n of [0, 17, 39])
    expect(await people.byName.first({ name: `name ${n}` })).toMatchObject({ name: `name ${n}` })
  const [byName] = indexesOf(Second)
  expect(await checkIndex(store, byName!.name)).toMatchObject({ missing: 0, dangling: 0, misplaced: 0 })
  await driver.close()
})
