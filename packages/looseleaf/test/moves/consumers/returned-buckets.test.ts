import { readConsumers, readDeadLetters, replayDeadLetters } from '@looseleaf/changes'
import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { entitiesIn, PARTITIONS } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { filledStore, openStore, rowsAt, SOME_BUCKETS } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { finishMoves, moveUntil, PLAN } from './moving.ts'

/** Puts an entity whose bucket will move. */
async function putMoving(store: DataStore): Promise<EntityId> {
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  await store.put({ n: 1 }, { id })
  return id
}

test('an earlier move that was emptying a source deletes nothing there that a later move keeps for consumers', async () => {
  const driver = await memoryShards(2).connect()
  const mover = await filledStore(driver, 60)
  await using store = await openStore(driver)
  const dying = faultyDriver(driver, ({ shard, operation }) =>
    shard === 0 && operation === 'discard'
      ? { before: () => Promise.reject(new LooseleafError('CLOSED', 'The process has died.')) }
      : undefined,
  )
  await expect(moveBuckets(await openStore(dying, leapingTime()), PLAN)).rejects.toMatchObject({
    code: 'CLOSED',
  })
  expect(await moveBuckets(mover, { ...PLAN, from: 1, to: 0 })).toMatchObject({ state: 'done' })
  const consumed = new Consumed()
  const first = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await first.stop()
  for (const id of (await versionsOf(store)).keys())
    if ((await store.get(id)) !== undefined) await store.update(id, (bag) => ({ ...bag, rank: 7 }))
  await moveUntil(mover, 'emptying')
  const kept = await rowsAt(mover, 0, SOME_BUCKETS)
  await resumeMoves(mover, { consumersMs: 0 })
  expect(await movesOf(mover)).toMatchObject([{ state: 'emptying' }])
  expect(await rowsAt(mover, 0, SOME_BUCKETS)).toBe(kept)
  await using _ = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await finishMoves(mover)
  expect(consumed.backwards()).toEqual([])
  expect(await rowsAt(mover, 0, SOME_BUCKETS)).toBe(0)
  await mover.close()
  await driver.close()
})

test('a dead letter of an entity that has left and come back is replayed after the states of the other shard', async () => {
  const driver = await memoryShards(2).connect()
  await using mover = await openStore(driver, leapingTime())
  await using store = await openStore(driver)
  const id = await putMoving(store)
  const consumed = new Consumed()
  let isDown = true
  consumed.onChange = () => {
    if (isDown) throw new Error('never')
  }
  let isBehind = false
  let rounds = 0
  const behind = faultyDriver(driver, ({ shard, operation }) => {
    if (shard === 0 && operation === 'pageOfChanges') rounds++
    if (!isBehind || shard !== 1 || operation !== 'pageOfChanges') return undefined
    throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.')
  })
  await using consuming = await openStore(behind)
  await using _ = consumed.start(consuming, { maxAttempts: 1 })
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
  isDown = false
  await moveUntil(mover, 'emptying')
  await finishMoves(mover)
  isBehind = true
  await store.put({ n: 2 }, { id })
  await moveUntil(mover, 'emptying', { ...PLAN, from: 1, to: 0 })
  await store.put({ n: 3 }, { id })
  expect(await replayDeadLetters(store, 'search')).toBe(1)
  const failing = async (): Promise<unknown> =>
    (await readConsumers(store))[0]?.shards.map((shard) => shard.failing)
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(0)
  const before = rounds
  await poll(() => rounds).toBeGreaterThan(before + 10)
  isBehind = false
  await consumed.reach(await versionsOf(store))
  // The move waits until the consumer has handled everything on its source.
  await finishMoves(mover)
  await poll(failing).toEqual([0, 0])
  expect(consumed.backwards()).toEqual([])
  expect(consumed.versions.get(id)!.length).toBeGreaterThan(1)
})

test('a dead letter is replayed in the partition that has its entity after a return, before later changes there', async () => {
  const driver = await memoryShards(2).connect()
  await using mover = await openStore(driver, leapingTime())
  let rounds = 0
  const watched = faultyDriver(driver, ({ shard, operation }) => {
    if (shard === 0 && operation === 'pageOfChanges') rounds++
    return undefined
  })
  await using store = await openStore(watched)
  const id = await putMoving(store)
  // The entity comes back behind this one, which stays.
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let other = idOn(store, 0)
  while (isIn(parseId(other))) other = idOn(store, 0)
  await store.put({ n: 0 }, { id: other })
  const { entities } = driver.shards[0]!
  const partition = async (): Promise<number> =>
    (await entities.checksums([parseId(id)]))[0]!.addedId % PARTITIONS
  const before = await partition()
  const consumed = new Consumed()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const calls: string[] = []
  consumed.onChange = async (change) => {
    if (change.id !== id) return
    calls.push(`n: ${String(change.entity?.['n'])}`)
    if (calls.length === 1) throw new Error('never')
    if (calls.length === 2) await released
  }
  await using _ = consumed.start(store, { maxAttempts: 1 })
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
  await moveUntil(mover, 'emptying')
  await finishMoves(mover)
  await moveUntil(mover, 'emptying', { ...PLAN, from: 1, to: 0 })
  await finishMoves(mover)
  expect(await partition()).not.toBe(before)
  await replayDeadLetters(store, 'search')
  await poll(() => calls).toEqual(['n: 1', 'n: 1'])
  await store.put({ n: 2 }, { id })
  const begun = rounds
  await poll(() => rounds).toBeGreaterThan(begun + 10)
  release()
  await consumed.reach(await versionsOf(store))
  await poll(() => calls).toEqual(['n: 1', 'n: 1', 'n: 2'])
  expect(consumed.backwards()).toEqual([])
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(0)
})
