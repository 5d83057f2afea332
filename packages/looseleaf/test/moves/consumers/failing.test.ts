import { readConsumers, readDeadLetters, replayDeadLetters } from '@looseleaf/changes'
import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { consumerPlaces, entitiesIn, loadOwn } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { openStore, itemOf, SOME_BUCKETS } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { finishMoves, moveUntil, PLAN } from './moving.ts'

const COUNT = 30

let driver: Driver
let mover: DataStore
let store: DataStore
let ids: EntityId[]
let consumed: Consumed

/** Puts entities whose buckets will move. */
beforeEach(async () => {
  driver = await memoryShards(2).connect()
  mover = await openStore(driver, leapingTime())
  store = await openStore(driver)
  consumed = new Consumed()
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  ids = []
  while (ids.length < COUNT) {
    const id = store.newId()
    if (!isIn(parseId(id))) continue
    await store.put({ ...itemOf(ids.length) }, { id })
    ids.push(id)
  }
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

const rewrite = (id: EntityId, n: number): Promise<unknown> =>
  store.update(id, (bag) => ({ ...bag, rank: n }))

async function failingOn(shard: number): Promise<number> {
  const [search] = await readConsumers(store)
  return search!.shards[shard]!.failing
}

/** Opens a store for a mover that calls `act` between its first seal and hand-over, when the places have passed all changes of the old shard. */
function openStoppedMover(act: () => Promise<void>): Promise<DataStore> {
  let isFirst = true
  const beforeChange = async (): Promise<void> => {
    const { leaving = [] } = (await loadOwn(store.context, 0, {})).serves
    if (!isFirst || leaving.every(({ sealed }) => sealed === undefined)) return
    isFirst = false
    const { floor } = await driver.shards[0]!.entities.floor()
    await poll(async () => (await consumerPlaces(store.context, 0, {})).get('search')).toBeGreaterThan(floor)
    await act()
  }
  const stopped = faultyDriver(driver, ({ shard, table, operation }) =>
    shard === 0 && table === 'catalog' && operation === 'change' ? { before: beforeChange } : undefined,
  )
  return openStore(stopped, leapingTime())
}

const ONE_GROUP = { groups: 1, groupSize: 2_048, consumersMs: 0 }

test('a change that fails while its entity moves is retried at the new shard with the state there, and delays no other entity', async () => {
  const bad = ids[3]!
  const tried: number[] = []
  let isDown = true
  consumed.onChange = ({ id, version }) => {
    if (id !== bad) return
    tried.push(version)
    if (isDown) throw new Error('The search engine is down.')
  }
  await using _ = consumed.start(store, { retryMs: 20, maxAttempts: 10_000 })
  await poll(() => failingOn(0)).toBe(1)
  await moveUntil(mover, 'emptying')
  for (const id of ids) await rewrite(id, 1)
  const versions = await versionsOf(store)
  await finishMoves(mover)
  await consumed.reach(new Map([...versions].filter(([id]) => id !== bad)))
  await poll(() => failingOn(1)).toBe(1)
  expect(await failingOn(0)).toBe(0)
  isDown = false
  await consumed.reach(versions)
  await poll(() => failingOn(1)).toBe(0)
  expect(consumed.backwards()).toEqual([])
  expect(tried).toEqual(tried.toSorted((a, b) => a - b))
})

test('changes of an entity wait on the new shard while the old one retries an earlier state', async () => {
  const bad = ids[3]!
  const order: string[] = []
  let release: () => void = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  consumed.onChange = async ({ id, version, attempt }) => {
    if (id !== bad) return
    order.push(`begins ${version}`)
    if (attempt === 1 && order.length === 1) throw new Error('The search engine is down.')
    if (order.length === 2) await released
    order.push(`ends ${version}`)
  }
  await using _ = consumed.start(store, { retryMs: 200 })
  // The retry is in flight from here on.
  await poll(() => order.length).toBe(2)
  await moveUntil(mover, 'emptying')
  await rewrite(bad, 1)
  // The shards have time to hand the later state over, if it did not wait.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  release()
  await consumed.reach(await versionsOf(store))
  const [before, after] = [...new Set(order.map((text) => text.split(' ')[1]))]
  expect(order).toEqual([
    `begins ${before}`,
    `begins ${before}`,
    `ends ${before}`,
    `begins ${after}`,
    `ends ${after}`,
  ])
})

test('a change that fails too often becomes a dead letter at the new shard, and its attempts before the move count', async () => {
  const bad = ids[3]!
  let attempts = 0
  let tries = 0
  let isDown = true
  consumed.onChange = ({ id, attempt }) => {
    if (id !== bad || !isDown) return
    attempts = attempt
    tries++
    throw new Error('never')
  }
  await using _ = consumed.start(store, { retryMs: 300, maxAttempts: 4 })
  await poll(() => attempts).toBe(2)
  await moveUntil(mover, 'emptying')
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
  expect([attempts, tries]).toEqual([4, 4])
  await finishMoves(mover)
  isDown = false
  expect(await replayDeadLetters(store, 'search')).toBe(1)
  await consumed.reach(await versionsOf(store))
  expect(await readDeadLetters(store, 'search')).toEqual([])
})

test.each(['before', 'after'])(
  'a dead letter of an entity that has moved is replayed at the new shard %s the old one has deleted it',
  async (when) => {
    const bad = ids[3]!
    let isDown = true
    consumed.onChange = ({ id }) => {
      if (id === bad && isDown) throw new Error('never')
    }
    const onError = (error: unknown, change?: unknown): void => void (change ?? consumed.errors.push(error))
    await using _ = consumed.start(store, { maxAttempts: 2, onError })
    const replay = async (): Promise<void> => {
      expect(await replayDeadLetters(store, 'search')).toBe(1)
      await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(0)
      await poll(async () => (await failingOn(0)) + (await failingOn(1))).toBe(0)
    }
    await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
    await moveUntil(mover, 'emptying')
    if (when === 'before') {
      isDown = false
      await rewrite(bad, 1)
      await consumed.reach(await versionsOf(store))
      await replay()
      await finishMoves(mover)
    } else {
      await finishMoves(mover)
      isDown = false
      await replay()
    }
    await consumed.reach(await versionsOf(store))
    expect(consumed.backwards()).toEqual([])
    expect(consumed.errors).toEqual([])
  },
)

test('a replayed change of an entity that has moved waits at the old shard while the new one takes no letter', async () => {
  const bad = ids[3]!
  let isDown = true
  let isFull = false
  consumed.onChange = ({ id }) => {
    if (id === bad && isDown) throw new Error('never')
  }
  const busy = (): never => {
    throw new LooseleafError('SHARD_BUSY', 'Busy (on purpose).')
  }
  const limited = faultyDriver(driver, ({ shard, operation }) =>
    isFull && shard === 1 && operation === 'claim' ? { before: busy } : undefined,
  )
  await using consuming = await openStore(limited)
  await using _ = consumed.start(consuming, { maxAttempts: 2 })
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
  await moveUntil(mover, 'emptying')
  isDown = false
  await rewrite(bad, 1)
  await consumed.reach(await versionsOf(store))
  isFull = true
  await replayDeadLetters(store, 'search')
  await poll(() => failingOn(0)).toBe(1)
  // Some rounds of retries.
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(consumed.backwards()).toEqual([])
  isFull = false
  await poll(async () => (await failingOn(0)) + (await failingOn(1))).toBe(0)
  expect(consumed.backwards()).toEqual([])
})

test('a failing deletion of an entity that has moved is handed over as a deletion', async () => {
  const bad = ids[3]!
  let isDown = true
  consumed.onChange = ({ id }) => {
    if (id === bad && isDown) throw new Error('The search engine is down.')
  }
  await store.delete(bad)
  await using _ = consumed.start(store, { maxAttempts: 10_000 })
  await poll(() => failingOn(0)).toBe(1)
  await moveUntil(mover, 'emptying')
  await finishMoves(mover)
  isDown = false
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
})

test('a hundred failing changes of a partition, all of entities that have moved, do not stop it', async () => {
  let isDown = true
  consumed.onChange = () => {
    if (isDown) throw new Error('The search engine is down.')
  }
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  const some = Array.from({ length: 4_400 }, () => store.newId()).filter((id) => isIn(parseId(id)))
  await Promise.all(some.map((id, n) => store.put({ n }, { id })))
  await using consumer = consumed.start(store, { maxAttempts: 10_000, retryMs: 100, concurrency: 32 })
  await poll(() => consumer.status().shards[0]!.failing).toBeGreaterThanOrEqual(800)
  await moveUntil(mover, 'emptying')
  isDown = false
  await finishMoves(mover)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
})

test('the old shard hands the last state over that was written there, before the new one retries an earlier failure', async () => {
  const bad = ids[3]!
  let isDown = true
  consumed.onChange = async ({ id }) => {
    if (id === bad && isDown) throw new Error('The search engine is down.')
    // The page of the old shard takes longer than the time in which it begins handlers.
    if (!isDown) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const first = consumed.start(store, { maxAttempts: 10_000 })
  await poll(() => failingOn(0)).toBe(1)
  await first.stop()
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  const some = Array.from({ length: 1_600 }, () => store.newId()).filter((id) => isIn(parseId(id)))
  await Promise.all(some.map((id, n) => store.put({ n }, { id })))
  await rewrite(bad, 1)
  await moveUntil(mover, 'emptying')
  await rewrite(bad, 2)
  isDown = false
  await using _ = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
})

test('a retry in flight at the hand-over keeps later changes of its entity, and the move, waiting', async () => {
  const bad = ids[3]!
  let hangs = false
  let isHanging = false
  let release: () => void = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  let first: number | undefined
  consumed.onChange = async ({ id, version }) => {
    if (id !== bad || version !== (first ??= version)) return
    if (!hangs) throw new Error('The search engine is down.')
    isHanging = true
    await released
  }
  await using _ = consumed.start(store, { maxAttempts: 10_000, retryMs: 1 })
  await poll(() => failingOn(0)).toBe(1)
  // The retry that hangs begins when the places have passed all changes of the old shard.
  await using watchedMover = await openStoppedMover(async () => {
    hangs = true
    await poll(() => isHanging).toBe(true)
  })
  const report = await moveBuckets(watchedMover, PLAN, ONE_GROUP)
  expect(isHanging).toBe(true)
  expect(report).toMatchObject({ state: 'emptying', heldUpBy: expect.stringContaining('search') })
  await rewrite(bad, 1)
  await new Promise((resolve) => setTimeout(resolve, 500))
  const isEarly = consumed.versions.has(bad)
  release()
  expect(isEarly).toBe(false)
  await consumed.reach(await versionsOf(store))
  await finishMoves(mover)
  expect(consumed.backwards()).toEqual([])
})

test('a process that was suspended while an entity moved does not take it for deleted when its change is replayed', async () => {
  const bad = ids[3]!
  let isDown = true
  consumed.onChange = ({ id }) => {
    if (id === bad && isDown) throw new Error('never')
  }
  let isSuspended = false
  let isWaiting = false
  let resume: () => void = () => {}
  const resumed = new Promise<void>((resolve) => (resume = resolve))
  const suspend = (): Promise<void> => {
    isWaiting = true
    return resumed
  }
  // Each look for free partitions begins so.
  const suspended = faultyDriver(driver, ({ shard, operation }) =>
    isSuspended && shard === 0 && operation === 'loadAll' ? { before: suspend } : undefined,
  )
  await using consuming = await openStore(suspended)
  const onError = (error: unknown, change?: unknown): void => void (change ?? consumed.errors.push(error))
  await using _ = consumed.start(consuming, { maxAttempts: 2, onError })
  await poll(async () => (await readDeadLetters(store, 'search')).length).toBe(1)
  await using stoppedMover = await openStoppedMover(async () => {
    isSuspended = true
    await poll(() => isWaiting).toBe(true)
  })
  const report = await moveBuckets(stoppedMover, PLAN, ONE_GROUP)
  isDown = false
  await replayDeadLetters(store, 'search')
  isSuspended = false
  resume()
  expect(report).toMatchObject({ state: 'done' })
  await consumed.reach(await versionsOf(store))
  await poll(async () => (await failingOn(0)) + (await failingOn(1))).toBe(0)
  expect(consumed.errors).toEqual([])
})
