import { dropConsumer, readConsumers } from '@looseleaf/changes'
import { readCleanerReport, startCleaner } from '@looseleaf/cleaner'
import type { Driver, EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { editTask, REGISTRY_TASK } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { fastTime, leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { emptySources, moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { contentsOf, filledStore, openStore, rowsAt } from '../stores.ts'
import { Consumed, poll, versionsOf } from './consumed.ts'
import { finishMoves, moveUntil, PLAN } from './moving.ts'

let driver: Driver
let mover: DataStore
let store: DataStore
let ids: readonly EntityId[]
let consumed: Consumed

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  mover = await filledStore(driver, 60)
  store = await openStore(driver)
  ids = [...(await contentsOf(store)).keys()] as EntityId[]
  consumed = new Consumed()
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

async function write(share: number, n: number): Promise<void> {
  for (const [i, id] of ids.entries()) {
    if (i % share !== 0) continue
    if (i % (7 * share) === 0) await store.delete(id)
    else await store.put({ ...(await store.get(id)), rank: n }, { id })
  }
}

const steps = ['copying', 'checking', 'sealing', 'switching', 'emptying'] as const

test.each(steps)(
  'a consumer that registers while a move is %s gets every entity, and each later state once, in order',
  async (step) => {
    await moveUntil(mover, step)
    await using _ = consumed.start(store)
    await write(3, 1)
    await finishMoves(mover)
    await write(2, 2)
    await consumed.reach(await versionsOf(store))
    expect(consumed.backwards()).toEqual([])
    expect(consumed.repeated()).toEqual([])
    expect(consumed.errors).toEqual([])
  },
)

test.each(steps)(
  'a consumer from now on that registers while a move is %s gets what is written from then on, and no copy',
  async (step) => {
    await moveUntil(mover, step)
    const before = await versionsOf(store)
    await using consumer = consumed.start(store, { from: 'now' })
    await poll(() => consumer.status().shards.map(({ partitions }) => partitions)).toEqual([8, 8])
    await write(3, 1)
    await finishMoves(mover)
    await write(2, 2)
    const after = await versionsOf(store)
    await consumed.reach(new Map([...after].filter(([id, version]) => before.get(id) !== version)))
    expect(consumed.backwards()).toEqual([])
    expect(consumed.repeated()).toEqual([])
    expect([...consumed.versions.keys()].filter((id) => after.get(id) === before.get(id))).toEqual([])
  },
)

test('a consumer that lags behind a move gets the states of the source before those of the target', async () => {
  let isOpen = false
  let release: () => void = () => {}
  const opened = new Promise<void>((resolve) => (release = resolve))
  consumed.onChange = () => (isOpen ? undefined : opened)
  await using consumer = consumed.start(store, { concurrency: 16 })
  await poll(() => consumer.status().shards.map(({ partitions }) => partitions)).toEqual([8, 8])
  const first = await versionsOf(store)
  await moveUntil(mover, 'emptying')
  await write(2, 1)
  const second = await versionsOf(store)
  isOpen = true
  release()
  await finishMoves(mover)
  await consumed.reach(second)
  expect(consumed.backwards()).toEqual([])
  for (const [id, version] of second)
    if (first.get(id) === version) expect(consumed.versions.get(id)).toEqual([version])
})

test('a move ends with the deletion on the source, once every consumer has handled its changes or was dropped', async () => {
  await using stopped = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await stopped.stop()
  await write(2, 1)
  const { now } = mover.context.time
  let began = Infinity
  const report = await moveBuckets(mover, PLAN, {
    onProgress: ({ step }) => void (step === 'emptying' && (began = Math.min(began, now()))),
  })
  expect(now() - began).toBe(10_000)
  expect(report).toMatchObject({
    state: 'emptying',
    heldUpBy: expect.stringMatching(/on shard 0: search\..*looseleaf consumer drop NAME/),
  })
  expect(await movesOf(mover)).toMatchObject([{ state: 'emptying', heldUpBy: report.heldUpBy }])
  expect(await emptySources(mover.context, {})).toEqual([])
  const { progress } = (await driver.shards[1]!.tasks.load('move/1'))!
  expect(JSON.parse(progress)).toMatchObject({ waitsFor: '' })
  await expect(moveBuckets(mover, { from: 1, to: 0, buckets: '7' })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('call shards.repair'),
  })
  await dropConsumer(store, 'search')
  expect(await movesOf(mover)).toMatchObject([{ state: 'emptying', heldUpBy: 'no process works on it' }])
  await finishMoves(mover)
  expect(await readConsumers(store)).toEqual([])
})

test('a mover that waits for a consumer says so, and ends the move when the consumer is dropped', async () => {
  await using stopped = consumed.start(store)
  await poll(() => readConsumers(store)).toHaveLength(1)
  await stopped.stop()
  await write(2, 1)
  let waits: string | undefined
  const watched = faultyDriver(driver, ({ operation, args: [task, , progress] }) => {
    if (operation !== 'save' || task !== 'move/1' || waits !== undefined) return undefined
    const { waitsFor } = JSON.parse(String(progress)) as { waitsFor: string }
    if (waitsFor === '') return undefined
    waits = waitsFor
    return { after: async () => void (await dropConsumer(store, 'search')) }
  })
  const waiting = await openStore(watched, leapingTime())
  expect(await moveBuckets(waiting, PLAN)).toMatchObject({ state: 'done', heldUpBy: undefined })
  expect(waits).toMatch(/^consumers that have changes to handle on shard 0: search\./)
  await waiting.close()
})

test('a cleaner empties the source of a move by itself, once the awaited consumer has handled its changes', async () => {
  await using stopped = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await stopped.stop()
  await write(2, 1)
  expect(await moveBuckets(mover, PLAN)).toMatchObject({ state: 'emptying' })
  // Looks every ten seconds of its clock.
  await using cleaned = await openStore(driver, fastTime(100))
  const errors: unknown[] = []
  await using cleaner = startCleaner(cleaned, { onError: (error) => void errors.push(error) })
  // The cleaner's first look is over when it has read the catalogs again.
  await poll(async () => (await readCleanerReport(store)).updatedAt).not.toBeUndefined()
  expect(await movesOf(store)).toMatchObject([
    { state: 'emptying', holder: undefined, heldUpBy: expect.stringContaining('search') },
  ])
  expect(await rowsAt(store, 0, PLAN.buckets)).toBeGreaterThan(0)

  await using _ = consumed.start(store)
  await poll(() => movesOf(store)).toEqual([])
  expect(await rowsAt(store, 0, PLAN.buckets)).toBe(0)
  expect((await store.shards.moves({ finished: true })).map(({ state }) => state)).toEqual(['done'])
  await cleaner.stop()
  expect(errors).toEqual([])
})

test('a move waits for a consumer whose name the source does not have, as a shard that joined later', async () => {
  await using stopped = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await stopped.stop()
  await write(2, 1)
  const { tasks } = driver.shards[0]!
  await editTask(tasks, REGISTRY_TASK, () => '', { owner: 'an operator' })
  expect(await moveBuckets(mover, PLAN)).toMatchObject({
    state: 'emptying',
    heldUpBy: expect.stringContaining('search'),
  })
})

test('a consumer that registers while the source is being emptied misses no entity', async () => {
  await moveUntil(mover, 'emptying')
  let isFirst = true
  const resume = async (): Promise<void> => {
    if (!isFirst) return
    isFirst = false
    await resumeMoves(mover, { consumersMs: 0 })
  }
  // A registration raises the floor to begin there.
  const interrupted = faultyDriver(driver, ({ shard, operation }) =>
    shard === 0 && operation === 'raiseFloor' ? { after: resume } : undefined,
  )
  await using late = await openStore(interrupted)
  await using _ = consumed.start(late)
  await consumed.reach(await versionsOf(store))
  expect(isFirst).toBe(false)
  await finishMoves(mover)
  await write(2, 2)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
  expect(consumed.errors).toEqual([])
})

test('a consumer that registers when a mover has found none to wait for misses no entity', async () => {
  await moveUntil(mover, 'emptying')
  let isFirst = true
  let isDown = true
  consumed.onChange = () => {
    if (isDown) throw new Error('The search engine is down.')
  }
  const register = async (): Promise<void> => {
    if (!isFirst) return
    isFirst = false
    const consumer = consumed.start(store)
    await poll(async () => (await readConsumers(store)).length).toBe(1)
    await consumer.stop()
    isDown = false
  }
  // The mover raises the floor of the source when it has looked for consumers.
  const interrupted = faultyDriver(driver, ({ shard, operation }) =>
    shard === 0 && operation === 'raiseFloor' ? { before: register } : undefined,
  )
  await using late = await openStore(interrupted, leapingTime())
  const [report] = await resumeMoves(late, { consumersMs: 0 })
  expect(isFirst).toBe(false)
  expect(report).toMatchObject({ state: 'emptying' })
  await using _ = consumed.start(store)
  await finishMoves(mover)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
})

test('a consumer that begins after two shards have exchanged buckets gets every entity once', async () => {
  await moveUntil(mover, 'emptying')
  await finishMoves(mover)
  await moveBuckets(mover, { from: 1, to: 0, buckets: '3000-4095' })
  await using _ = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
  expect(consumed.repeated()).toEqual([])
  expect(consumed.errors).toEqual([])
})

test('a consumer that begins after two moves at once have exchanged buckets gets every entity once', async () => {
  // Both copies are there before either shard gives its first bucket up.
  await moveUntil(mover, 'checking')
  await moveUntil(mover, 'checking', { from: 1, to: 0, buckets: '3000-4095' })
  await finishMoves(mover)
  await using _ = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
  expect(consumed.repeated()).toEqual([])
  expect(consumed.errors).toEqual([])
})

test('a consumer that begins after a move gets every entity once, and later states in order', async () => {
  await moveUntil(mover, 'emptying')
  await write(3, 1)
  await finishMoves(mover)
  await using _ = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await write(2, 2)
  await consumed.reach(await versionsOf(store))
  expect(consumed.backwards()).toEqual([])
  expect(consumed.repeated()).toEqual([])
  expect(consumed.errors).toEqual([])
})
