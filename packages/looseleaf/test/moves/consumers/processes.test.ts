import type { Driver, EntityId, Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { dyingDriver } from '../../../../cleaner/test/broken-driver.ts'
import { moveBuckets } from '@looseleaf/mover/internal'
import { openStore, SOME_BUCKETS } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { finishMoves, PLAN } from './moving.ts'

async function putSome(store: DataStore, count: number): Promise<EntityId[]> {
  const entities = await store.putMany(Array.from({ length: count }, (_, n) => ({ n })))
  return entities.map(({ id }) => id)
}

test('two processes of a consumer hand the states of every entity over in order, while buckets move away, back, and away again', async () => {
  const driver = await memoryShards(2).connect()
  const mover = await openStore(driver, leapingTime())
  const stores = [await openStore(driver), await openStore(driver)]
  const ids = await putSome(mover, 100)
  const consumed = new Consumed()
  // Slow handlers, so that each shard is behind while the other one has newer states.
  consumed.onChange = () => new Promise((resolve) => setTimeout(resolve, 2))
  const consumers = stores.map((store) => consumed.start(store))
  await poll(() =>
    consumers.map((consumer) => consumer.status().shards.map(({ partitions }) => partitions)),
  ).toEqual([
    [4, 4],
    [4, 4],
  ])
  for (const [n, [from, to]] of [
    [0, 1],
    [1, 0],
    [0, 1],
  ].entries()) {
    const moving = moveBuckets(mover, { from: from!, to: to!, buckets: SOME_BUCKETS }, { groups: 3 })
    await Promise.all([moving, ...ids.slice(0, 50).map((id) => stores[0]!.put({ n }, { id }))])
    for (const id of ids.slice(25, 75)) await stores[0]!.put({ n: 10 + n }, { id })
    await finishMoves(mover)
  }
  await stores[0]!.delete(ids[0]!)
  await consumed.reach(await versionsOf(mover))
  await Promise.all(consumers.map((consumer) => consumer.stop()))
  expect(consumed.backwards()).toEqual([])
  expect(consumed.errors).toEqual([])
  await driver.close()
}, 60_000)

/** Opens a store whose process dies after this many calls, with the effect of the last one or without it. */
async function openMortal(driver: Driver, calls: number, time?: Time): Promise<DataStore> {
  const dying = dyingDriver(driver, { withEffect: calls % 2 === 0 })
  const store = await openStore(dying.driver, time)
  dying.dieAfter(calls)
  return store
}

test('a consumer gets the last state of every entity in order, whenever a mover and a process of the consumer die', async () => {
  for (let calls = 10; calls < 400; calls += isLong ? 7 : 37) {
    const driver = await memoryShards(2).connect()
    const store = await openStore(driver)
    const ids = await putSome(store, 30)
    const consumed = new Consumed()
    // Its process dies within the first move, mostly.
    const first = consumed.start(await openMortal(driver, 2 * calls), { leaseMs: 100 })
    const dying = await openMortal(driver, calls, leapingTime())
    await Promise.all([
      moveBuckets(dying, PLAN, { groups: 2, checkpointMs: 0, leaseMs: 1 }).catch(() => undefined),
      ...ids.slice(0, 15).map((id) => store.put({ n: 1 }, { id })),
    ])
    await using _ = consumed.start(store, { leaseMs: 100 })
    for (const id of ids.slice(5, 20)) await store.put({ n: 2 }, { id })
    await finishMoves(await openStore(driver, leapingTime()))
    for (const id of ids.slice(10, 25)) await store.put({ n: 3 }, { id })
    await consumed.reach(await versionsOf(store))
    await first.stop()
    expect(consumed.backwards()).toEqual([])
  }
}, 480_000)
