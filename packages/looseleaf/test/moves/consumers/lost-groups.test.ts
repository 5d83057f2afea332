import { readConsumers, readDeadLetters, replayDeadLetters } from '@looseleaf/changes'
import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moveBuckets } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { itemOf, openStore } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { PLAN } from './moving.ts'

let driver: Driver
let mover: DataStore
let store: DataStore
let id: EntityId
let consumed: Consumed
let isDown: boolean
let deletions: number

/** Puts an entity of the first group of buckets that moves. Its changes fail. */
beforeEach(async () => {
  driver = await memoryShards(2).connect()
  mover = await openStore(driver, leapingTime())
  store = await openStore(driver)
  id = await putIn('0-511', 1)
  isDown = true
  deletions = 0
  consumed = new Consumed()
  consumed.onChange = ({ id: changed, entity }) => {
    if (isDown && changed === id) throw new Error('The search engine is down.')
    if (entity === undefined) deletions++
  }
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

/** Puts an entity of these buckets. */
async function putIn(buckets: string, item: number): Promise<EntityId> {
  const isIn = entitiesIn(store.context, buckets)
  let found: EntityId
  do found = store.newId()
  while (!isIn(parseId(found)))
  await store.put({ ...itemOf(item) }, { id: found })
  return found
}

async function failingOn(shard: number): Promise<number> {
  const [search] = await readConsumers(store)
  return search!.shards[shard]!.failing
}

/** Hands the first group over, and stops. */
async function handGroupOver(): Promise<void> {
  const stopped = new AbortController()
  const moved = moveBuckets(mover, PLAN, {
    groups: 2,
    leaseMs: 1,
    signal: stopped.signal,
    onProgress: ({ seals: { groups } }) => void (groups === 1 && stopped.abort()),
  })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
}

/** Puts the target back to the state before the move, except for its letters. */
async function loseGroup(): Promise<void> {
  const target = driver.shards[1]!
  const { epoch } = (await changeServes(target, (await loadShardCatalog(target))!, { owns: '2048-4095' }))!
  expect(await target.entities.discard([parseId(id)], { epoch })).toBe(1)
}

test('a failing change waits at the old shard of its entity, if the new one has lost it', async () => {
  await using _ = consumed.start(store, { maxAttempts: 1 })
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
  await handGroupOver()
  await loseGroup()
  // Once the consumer is behind the departure, shard 0 has no say over the entity any more.
  const later = await putIn('1024-2047', 2)
  await poll(() => consumed.last(later)).toBeGreaterThan(0)
  isDown = false
  await replayDeadLetters(store, 'search')
  await poll(() => failingOn(0)).toBe(1)
  // Some rounds of retries.
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await failingOn(0)).toBe(1)
  expect(await mover.shards.repair()).toMatchObject({ moves: [{ id: 1 }], problems: [] })
  await consumed.reach(await versionsOf(store))
  expect(deletions).toBe(0)
  await poll(async () => (await failingOn(0)) + (await failingOn(1))).toBe(0)
})
