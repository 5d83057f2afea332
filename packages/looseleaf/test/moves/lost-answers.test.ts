import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, unknownOutcome, type FaultPlan } from '@looseleaf/testkit'
import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets, movesOf } from '@looseleaf/mover/internal'
import { contentsOf, filledStore, openStore, rowsAt, SOME_BUCKETS } from './stores.ts'

const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }

/** Opens a store without `migrate`, which would complete changes of the catalog. */
function openPlain(driver: Driver, faults: FaultPlan): Promise<DataStore> {
  return DataStore.open({ shards: keepOpen(faultyDriver(driver, faults)), time: leapingTime() })
}

test('a mover whose attempt began at the target without an answer goes on with it', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 20)
  let lost = 0
  const store = await openPlain(driver, ({ shard, operation, args: [catalog] }) => {
    const { serves } = (catalog ?? {}) as { serves?: { coming?: readonly unknown[] } }
    if (shard !== 1 || operation !== 'change' || serves?.coming === undefined || lost > 0) return undefined
    lost++
    return {
      after() {
        throw unknownOutcome()
      },
    }
  })
  expect(await moveBuckets(store, plan)).toMatchObject({ state: 'done' })
  expect(lost).toBe(1)
  await driver.close()
})

test('a source is emptied although the end of the move had reached the first shard alone when its mover lost the answer', async () => {
  const driver = await memoryShards(3).connect()
  await filledStore(driver, 20)
  let lost = 0
  const store = await openPlain(driver, ({ shard, operation, args: [catalog] }) => {
    const { layout } = (catalog ?? {}) as { layout?: { moves?: readonly unknown[] } }
    if (shard !== 0 || operation !== 'change' || layout?.moves?.length !== 0 || lost > 0) return undefined
    lost++
    return {
      after() {
        throw unknownOutcome()
      },
    }
  })
  const from1 = { from: 1, to: 2, buckets: '1400-2000' }
  expect(await moveBuckets(store, from1)).toMatchObject({ state: 'done' })
  expect(lost).toBe(1)
  expect(await rowsAt(store, 1, from1.buckets)).toBe(0)
  expect(await movesOf(store)).toEqual([])
  expect(await moveBuckets(store, { ...from1, from: 2, to: 1 })).toMatchObject({ state: 'done' })
  await driver.close()
})

test.each([
  ['before the seal', false],
  ['before its bucket is handed over', true],
])('a copy that arrives once more %s overwrites no later copy of its entity', async (_, isAtHandOver) => {
  const driver = await memoryShards(2).connect()
  // Ids are random, and one of these has to be in the buckets that move.
  const writer = await filledStore(driver, 100)
  const { entities } = driver.shards[1]!
  const isIn = entitiesIn(writer.context, SOME_BUCKETS)
  const id = [...(await contentsOf(writer)).keys()].find((each) => isIn(parseId(each))) as EntityId
  let rank = 1_000
  const update = async (): Promise<void> => {
    rank++
    await writer.update(id, (bag) => ({ ...bag, rank }))
  }
  const copies: Parameters<typeof entities.receive>[] = []
  let isAgain = false
  const repeat = async (): Promise<void> => {
    isAgain = true
    for (const args of copies.slice(0, -1)) await entities.receive(...args).catch(() => undefined)
  }
  const store = await openPlain(driver, ({ shard, operation, args }) => {
    if (shard === 1 && operation === 'receive') copies.push(args as unknown as (typeof copies)[number])
    if (shard !== 0 || isAgain) return undefined
    // Before each pass, so that each one copies the entity.
    if (operation === 'raiseFloor') return { before: update }
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if (serves?.away !== undefined) return { before: repeat }
    if (serves?.leaving?.[0]?.sealed === undefined) return undefined
    return { before: isAtHandOver ? update : repeat }
  })
  expect(await moveBuckets(store, plan, { groups: 1 })).toMatchObject({ state: 'done' })
  expect(isAgain).toBe(true)
  expect(copies.length).toBeGreaterThan(3)
  const fresh = await openStore(driver)
  expect(await fresh.get(id)).toMatchObject({ rank })
  await driver.close()
})

test('a write stays if the hand-over of its bucket arrives after the mover has missed the answer', async () => {
  const driver = await memoryShards(2).connect()
  const writer = await openStore(driver)
  const isFirst = entitiesIn(writer.context, '0-511')
  let id: EntityId
  do id = writer.newId()
  while (!isFirst(parseId(id)))
  const write = async (n: number): Promise<void> => void (await writer.put({ n }, { id }))
  await write(1)
  const { promise: late, resolve: land } = Promise.withResolvers<void>()
  let step: 'seal' | 'hand-over' | 'next pass' | 'over' = 'seal'
  const faulty = faultyDriver(driver, ({ shard, operation, args }) => {
    if (shard !== 0) return undefined
    const { serves } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if (step === 'seal' && serves?.leaving?.[0]?.sealed !== undefined) {
      step = 'hand-over'
      return { before: () => write(2) }
    }
    if (step === 'hand-over' && serves?.away !== undefined) {
      step = 'next pass'
      return { late }
    }
    if (step !== 'next pass' || operation !== 'raiseFloor') return undefined
    step = 'over'
    return {
      async before() {
        land()
        await faulty.settled()
        await write(3)
      },
    }
  })
  const mover = await openStore(faulty, leapingTime())
  expect(await moveBuckets(mover, plan, { groups: 2 })).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  const fresh = await openStore(driver)
  expect(await fresh.get(id)).toMatchObject({ n: 3 })
  await driver.close()
})

test('a mover whose claim of the move had no answer goes on at once, and waits for no other process', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 20)
  let lost = 0
  const store = await openPlain(driver, ({ shard, table, operation }) => {
    if (shard !== 1 || table !== 'tasks' || operation !== 'claim' || lost > 0) return undefined
    lost++
    return {
      after() {
        throw unknownOutcome()
      },
    }
  })
  let waits = 0
  expect(await moveBuckets(store, plan, { onWait: () => void waits++ })).toMatchObject({ state: 'done' })
  expect({ lost, waits }).toEqual({ lost: 1, waits: 0 })
  await driver.close()
})
