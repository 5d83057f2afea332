import type { ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets, undoMove } from '@looseleaf/mover/internal'
import { announceMove } from '@looseleaf/protocol/internal'
import { faultyDriver, unknownOutcome, type FaultyCall } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

test('a mover that was suspended while another one finished its move reports the move as done', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 100)
  const before = await contentsOf(store)
  let other: Promise<unknown> | undefined
  const suspended = faultyDriver(driver, ({ operation }) => {
    if (operation !== 'receive' || other !== undefined) return undefined
    other = moveBuckets(store, PLAN)
    return { before: () => other as Promise<void> }
  })
  const mover = await openStore(suspended, leapingTime())
  expect(await moveBuckets(mover, PLAN, { leaseMs: 1 })).toMatchObject({ state: 'done' })
  expect(await other).toMatchObject({ state: 'done' })
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

const leavingOf = ({ operation, args }: FaultyCall): ShardServes['leaving'] =>
  operation === 'change' ? (args[0] as ShardCatalog).serves?.leaving : undefined

const isSeal = (call: FaultyCall): boolean =>
  leavingOf(call)?.some(({ sealed }) => sealed !== undefined) === true

test('a mover ends its move although one that was suspended wakes and begins an attempt of its own', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 100)
  const before = await contentsOf(store)
  const { promise: suspended, resolve: suspend } = Promise.withResolvers<void>()
  const { promise: sealing, resolve: seal } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  let attempts = 0
  const first = faultyDriver(driver, (call) => {
    if (leavingOf(call) === undefined) return undefined
    attempts++
    if (attempts > 1) return { after: begin }
    suspend()
    return { before: () => sealing }
  })
  const second = faultyDriver(driver, (call) => {
    if (!isSeal(call)) return undefined
    seal()
    return { before: () => begun }
  })
  const late = moveBuckets(await openStore(first, leapingTime()), PLAN, { leaseMs: 1 })
  await suspended
  expect(await moveBuckets(await openStore(second, leapingTime()), PLAN)).toMatchObject({ state: 'done' })
  expect(await late).toMatchObject({ state: 'done' })
  expect(attempts).toBeGreaterThan(1)
  expect(await contentsOf(await openStore(driver))).toEqual(before)
})

test('a mover that wakes without its lease begins no attempt', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 100)
  const time = leapingTime()
  const { promise: suspended, resolve: suspend } = Promise.withResolvers<void>()
  const { promise: sealing, resolve: seal } = Promise.withResolvers<void>()
  const { promise: awake, resolve: wake } = Promise.withResolvers<void>()
  let attempts = 0
  const first = faultyDriver(driver, (call) => {
    if (leavingOf(call) !== undefined) attempts++
    if (call.operation === 'save' || attempts > 0) return { after: wake }
    if (call.operation !== 'claim') return undefined
    return {
      async after() {
        suspend()
        await sealing
        time.leap(60_000)
      },
    }
  })
  const second = faultyDriver(driver, (call) => {
    if (!isSeal(call)) return undefined
    seal()
    return { before: () => awake }
  })
  const late = moveBuckets(await openStore(first, time), PLAN, { leaseMs: 1 })
  await suspended
  expect(await moveBuckets(await openStore(second, leapingTime()), PLAN)).toMatchObject({ state: 'done' })
  expect(await late).toMatchObject({ state: 'done' })
  expect(attempts).toBe(0)
})

test('a mover names the process that it waits for again after it has lost the move to another one', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 100)
  const { id } = await announceMove(store.context, PLAN)
  const { tasks } = driver.shards[1]!
  const task = `move/${id}`
  const free = async (owner: string): Promise<unknown> =>
    tasks.save(task, owner, (await tasks.load(task))!.progress, 0)
  const takeOver = async (): Promise<void> => {
    // The lease of the mover ends within a millisecond.
    while ((await tasks.claim(task, 'second', 60_000)) === undefined);
  }
  await tasks.claim(task, 'first', 60_000)
  let waits = 0
  let isTaken = false
  let isReleased = false
  const mover = await openStore(
    faultyDriver(driver, ({ operation, args }) => {
      if (isTaken && !isReleased && operation === 'save' && args[3] === 0) {
        isReleased = true
        return { before: () => Promise.reject(unknownOutcome()) }
      }
      if (operation !== 'receive' || isTaken) return undefined
      isTaken = true
      return { before: takeOver }
    }),
    leapingTime(),
  )
  const report = await moveBuckets(mover, PLAN, {
    leaseMs: 1,
    checkpointMs: 0,
    onWait: () => void free(++waits === 1 ? 'first' : 'second'),
  })
  expect(report).toMatchObject({ state: 'done' })
  expect([waits, isReleased]).toEqual([2, true])
})

test('a mover that was suspended at the begin of its attempt reports a move that was undone meanwhile', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 20)
  let undone: Promise<unknown> | undefined
  const suspended = faultyDriver(driver, (call) => {
    if (leavingOf(call) === undefined || undone !== undefined) return undefined
    undone = undoMove(store, 1)
    return { before: async () => void (await undone) }
  })
  const mover = await openStore(suspended, leapingTime())
  expect(await moveBuckets(mover, PLAN, { leaseMs: 1 })).toMatchObject({ id: 1, state: 'undone' })
  expect(await undone).toMatchObject({ state: 'undone' })
})
