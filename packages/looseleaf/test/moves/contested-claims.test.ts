import { formatId, parseId, type Driver, type Time } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf, undoMove, type MoveProgress } from '@looseleaf/mover/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { crashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { createReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { byName, byUser } from './stores.ts'

/** The second one has no rows here, and is copied whole after the contested claims of the first one. */
const indexes = [byName, byUser]
const PLAN = { from: 0, to: 1, buckets: '0-2047' }

interface Contested {
  readonly store: DataStore
  /** The entity that has the name at the source. */
  readonly id: string
  claimsAtTarget(): Promise<readonly IndexRow[]>
  /** Takes the name at the target for an entity. */
  take(entityId: Uint8Array, version: number): Promise<void>
  /** Replaces the claim at the target by one of another entity. */
  swap(entityId: Uint8Array): Promise<void>
}

/** Opens a store with an entity whose name is in the buckets of the plan. */
async function contestedName(driver: Driver, time: Time, deleteDelayMs: number): Promise<Contested> {
  const shards = keepOpen(driver)
  const store = await DataStore.open({ shards, indexes, migrate: true, deleteDelayMs, time })
  onTestFinished(() => store.close())
  const { catalog, router } = store.context
  const spec = tableSpec(catalog.current().indexes.find(({ unique }) => unique)!)
  const name = ['a', 'b', 'c', 'd', 'e'].find((text) => router.shardOfKey(Buffer.from(text)) === 0)!
  const target = driver.shards[1]!
  const claimsAtTarget = (): Promise<readonly IndexRow[]> =>
    target.index(spec).scan({ prefix: [], order: 'asc', limit: 10 })
  return {
    store,
    id: (await store.put({ name })).id,
    claimsAtTarget,
    take: async (entityId, version) =>
      void (await target.claims(spec).take([{ key: [Buffer.from(name)], entityId, version }])),
    async swap(entityId) {
      const [claim] = await claimsAtTarget()
      await target.claims(spec).swap(claim!, { entityId, version: claim!.version + 1 })
    },
  }
}

/** Opens a mover that runs a hook after each of its waits. */
async function moverWith(driver: Driver, time: Time, hook: () => Promise<void>): Promise<DataStore> {
  const sleeping: Time = {
    ...time,
    async sleep(milliseconds, signal) {
      await time.sleep(milliseconds, signal)
      await hook()
    },
  }
  const mover = await DataStore.open({ shards: keepOpen(driver), indexes, time: sleeping })
  onTestFinished(() => mover.close())
  return mover
}

test('a move names entities that compete for a claim, and a failover only with a delay of deletes', async () => {
  const driver = await memoryShards(2).connect()
  const time = leapingTime()
  const { store, id, claimsAtTarget, take, swap } = await contestedName(driver, time, 0)
  let isContested = true
  let competitors = 0
  const plan: FaultPlan = ({ shard, operation }) =>
    shard === 1 && operation === 'swap' && isContested
      ? { before: () => swap(Buffer.alloc(16, ++competitors)) }
      : undefined
  await take(Buffer.alloc(16, 255), 1)
  const waits = new Set<unknown>()
  const mover = await moverWith(faultyDriver(driver, plan), time, async () => {
    const [move] = await movesOf(store)
    if (move?.state !== 'checking' || move.heldUpBy === undefined) return
    waits.add(move.heldUpBy)
    isContested = false
  })
  // The contested claim is written by a later pass only.
  expect(await moveBuckets(mover, PLAN)).toMatchObject({ state: 'done', counts: { claims: 0, late: 1 } })
  expect([...waits]).toEqual(['other entities that compete for 1 of its claims'])
  expect((await claimsAtTarget()).map(({ entityId }) => formatId(entityId))).toEqual([id])
})

test('a move waits for a claim of an entity that is written again and again, and an undo deletes that claim', async () => {
  const time = leapingTime()
  // The clocks of the servers leap, too, so that entities grow old.
  const driver = createReferenceDriver({ shards: 2, now: () => time.now() * 1_000 })
  const { store, id, claimsAtTarget, take } = await contestedName(driver, time, 60_000)
  const busy = await store.put({})
  // An attempt by the catalog of an earlier move, which was undone.
  await take(parseId(busy.id), busy.version - 1)
  const interrupted = new AbortController()
  let rounds = 0
  const mover = await moverWith(driver, time, async () => {
    const [move] = await movesOf(store)
    if (move?.state !== 'checking') return
    await store.put({ round: ++rounds }, { id: busy.id })
    if (rounds === 20) interrupted.abort()
  })
  const began = time.now()
  const moved = moveBuckets(mover, PLAN, { signal: interrupted.signal })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
  // A failover may restore the claim for a minute, so each look comes a minute after the one before it, in waits of ten seconds.
  expect(time.now() - began).toBeGreaterThan(100_000)
  const [open] = await movesOf(store)
  expect(open).toMatchObject({ state: 'checking', handedOver: 0, back: 'undo' })
  expect(await undoMove(store, open!.id)).toMatchObject({ state: 'undone' })
  expect(await claimsAtTarget()).toEqual([])
  expect(await moveBuckets(store, PLAN)).toMatchObject({ state: 'done' })
  expect((await claimsAtTarget()).map(({ entityId }) => formatId(entityId))).toEqual([id])
})

test.each(['copying', 'checking'] as const)(
  'a claim that other entities competed for is copied again if the target loses it (contested until %s)',
  async (until) => {
    const shards = crashingShards(2, (each) => each)
    const driver = await shards.factory.connect({})
    const time = leapingTime()
    const { id, claimsAtTarget, take, swap } = await contestedName(driver, time, 0)
    let step: 'contest' | 'take' | 'crash' | 'over' = 'contest'
    let competitors = 0
    const plan: FaultPlan = ({ shard, operation, table }) => {
      if (step === 'contest' && shard === 1 && operation === 'swap')
        return { before: () => swap(Buffer.alloc(16, ++competitors)) }
      if (step === 'take' && shard === 1 && operation === 'swap') {
        step = 'crash'
        return undefined
      }
      if (step !== 'crash' || shard !== 0 || table !== 'entities' || operation !== 'raiseFloor')
        return undefined
      step = 'over'
      return { before: () => shards.crash(1) }
    }
    await take(Buffer.alloc(16, 255), 1)
    const endContest = (): void => {
      if (step !== 'contest') return
      step = 'take'
      shards.hang(1)
    }
    const mover = await moverWith(faultyDriver(driver, plan), time, async () => {
      if (until === 'checking' && competitors > 64) endContest()
    })
    const onProgress = ({ step: entered }: MoveProgress): void => {
      if (until === 'copying' && entered === 'checking') endContest()
    }
    expect(await moveBuckets(mover, PLAN, { onProgress })).toMatchObject({ state: 'done' })
    expect(step).toBe('over')
    expect((await claimsAtTarget()).map(({ entityId }) => formatId(entityId))).toEqual([id])
  },
)
