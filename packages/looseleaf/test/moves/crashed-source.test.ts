import { randomUUID } from 'node:crypto'
import { parseId, type EntityId } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { crashingShards, type CrashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { SOME_BUCKETS } from './stores.ts'

function faultyShards(plan: FaultPlan): CrashingShards {
  return crashingShards(2, (driver) => faultyDriver(driver, plan))
}

/** Opens a store with an entity of the move that has version 1. */
async function openWriter(
  shards: CrashingShards,
  bag: { readonly n: number; readonly text: string },
): Promise<{ readonly writer: DataStore; readonly id: EntityId }> {
  const writer = await DataStore.open({ shards: shards.factory, migrate: true })
  const isIn = entitiesIn(writer.context, SOME_BUCKETS)
  let id: EntityId
  do id = writer.newId()
  while (!isIn(parseId(id)))
  await writer.put(bag, { id })
  return { writer, id }
}

test('an entity whose replacement is lost in a crash of the source moves as it was before', async () => {
  let isArmed = false
  const shards = faultyShards(({ shard, table, operation }) => {
    if (!isArmed || shard !== 0 || table !== 'entities' || operation !== 'read') return undefined
    isArmed = false
    return {
      before: async () => {
        shards.hang(0)
        await writer.put({ n: 2 }, { id })
      },
      after: () => shards.crash(0),
    }
  })
  // So long that its body is read after its page.
  const text = Array.from({ length: 2_000 }, () => randomUUID()).join(' ')
  const { writer, id } = await openWriter(shards, { n: 1, text })
  const mover = await DataStore.open({ shards: shards.factory, time: leapingTime() })
  isArmed = true
  expect(await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })).toMatchObject({ state: 'done' })
  expect(isArmed).toBe(false)
  const fresh = await DataStore.open({ shards: shards.factory })
  expect(await fresh.get(id)).toMatchObject({ n: 1 })
})

test('an entity moves although a replacement has left a page of the source empty before a crash', async () => {
  let isArmed = false
  let mayCrash = false
  const shards = faultyShards(({ shard, table, operation }) => {
    if (shard !== 0) return undefined
    if (mayCrash && table === 'entities' && operation === 'raiseFloor') {
      mayCrash = false
      return { before: () => shards.crash(0) }
    }
    if (!isArmed || operation !== 'pageOfChanges') return undefined
    isArmed = false
    mayCrash = true
    return {
      before: async () => {
        shards.hang(0)
        await writer.put({ n: 2 }, { id })
      },
    }
  })
  const { writer, id } = await openWriter(shards, { n: 1, text: '' })
  const mover = await DataStore.open({ shards: shards.factory, time: leapingTime() })
  isArmed = true
  expect(await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })).toMatchObject({ state: 'done' })
  expect([isArmed, mayCrash]).toEqual([false, false])
  const fresh = await DataStore.open({ shards: shards.factory })
  expect(await fresh.get(id)).toMatchObject({ n: 2 })
})
