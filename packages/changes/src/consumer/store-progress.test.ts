import { parseId, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketsOf } from '@looseleaf/index-engine/internal'
import { partitionNumbers, partitionTask, type FollowerProgress } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { crashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { expect, it } from 'vitest'
import { gone } from '../../test/search.ts'
import { recordToText, type Failing } from '../records/partition-record.ts'
import { storeProgress } from './store-progress.ts'

const END = 100
const AWAY = { move: 1, attempt: 1, buckets: '7', to: 1, end: END }

async function saveRecords(store: DataStore, updated: number, failing: readonly Failing[]): Promise<void> {
  const { tasks } = store.context.driver.shards[0]!
  const names = partitionNumbers.map((partition) => partitionTask('search', partition))
  const record = { incarnation: 'a', place: { updated, addedId: 0 }, since: 1, failing, process: '' }
  await tasks.claimAll(names, 'a process', 60_000)
  await tasks.saveAll(new Map(names.map((name) => [name, recordToText(record)])), 'a process', 0)
}

function progressIn({ context }: Pick<DataStore, 'context'>): FollowerProgress {
  return storeProgress(context, 'search', {
    registration: () => ({ incarnation: 'a', at: 1, begun: [0], floors: [1] }),
    everyMs: 1_000,
  })
}

function hasHandledOn(store: DataStore, id?: EntityId): Promise<boolean> {
  return progressIn(store).hasHandled(0, 7, [AWAY], id)
}

it('a place that a crash takes back counts as not reached', async () => {
  let crashes = false
  const shards = crashingShards(1, (driver) =>
    faultyDriver(driver, ({ operation }) =>
      crashes && operation === 'flush' ? { before: () => shards.crash(0) } : undefined,
    ),
  )
  await using store = await DataStore.open({ shards: shards.factory, migrate: true })
  const save = (updated: number): Promise<void> => saveRecords(store, updated, [])
  const hasHandled = (): Promise<boolean> => hasHandledOn(store)
  await save(END - 1)
  expect(await hasHandled()).toBe(false)
  shards.hang(0)
  await save(END)
  crashes = true
  expect(await hasHandled()).toBe(false)
  crashes = false
  await save(END)
  expect(await hasHandled()).toBe(true)
})

function newIdIn7(store: DataStore): EntityId {
  let id = store.newId()
  while (bucketsOf(store.context.router)!.ofId(parseId(id)) !== 7) id = store.newId()
  return id
}

it('a retry waits for a failing change of its own entity, and for places, but for no failing change of another entity', async () => {
  await using store = await DataStore.open({ shards: memoryShards(1), migrate: true })
  const [id, other] = [newIdIn7(store), newIdIn7(store)]
  await saveRecords(store, END, [{ id, version: 1, attempts: 1, error: '', failedAt: 1 }])
  const answers = async (): Promise<readonly boolean[]> =>
    Promise.all([hasHandledOn(store, id), hasHandledOn(store, other), hasHandledOn(store)])
  expect(await answers()).toEqual([false, true, false])
  await saveRecords(store, END - 1, [])
  expect(await answers()).toEqual([false, false, false])
})

it('a failing change holds its bucket until it was passed on after the last departure of the bucket', async () => {
  await using store = await DataStore.open({ shards: memoryShards(1), migrate: true })
  const id = newIdIn7(store)
  const change = { id, version: 1, attempts: 1, error: '', failedAt: 1 }
  const passed = (behind: number): Failing => ({ ...change, passed: { to: 1, at: 1, behind } })
  for (const [failing, isHandled] of [
    [change, false],
    [passed(END - 1), false],
    [passed(END), true],
  ] as const) {
    await saveRecords(store, END, [failing])
    expect(await hasHandledOn(store)).toBe(isHandled)
  }
})

/** Opens a store of one shard with these faults. */
async function openFaulty(plan: FaultPlan): Promise<DataStore> {
  const shards = memoryShards(1)
  const connect: typeof shards.connect = async (options) => faultyDriver(await shards.connect(options), plan)
  return DataStore.open({ shards: { ...shards, connect }, migrate: true })
}

it('a place that is reached only while the shard flushes counts as not reached', async () => {
  let isDuring = false
  const onFlush = { before: (): Promise<void> => saveRecords(store, END, []) }
  const store = await openFaulty(({ operation }) => (isDuring && operation === 'flush' ? onFlush : undefined))
  await saveRecords(store, END - 1, [])
  isDuring = true
  expect(await hasHandledOn(store)).toBe(false)
  isDuring = false
  expect(await hasHandledOn(store)).toBe(true)
  await store.close()
})

it('a departure whose rows were deleted holds nothing, and of several the last one counts', async () => {
  let isSilent = false
  const store = await openFaulty(({ table }) => (isSilent && table === 'tasks' ? gone : undefined))
  await saveRecords(store, END - 1, [])
  const answer = (...away: readonly (typeof AWAY & { readonly emptied?: number })[]): Promise<boolean> =>
    progressIn(store).hasHandled(0, 7, away)
  expect(await answer({ ...AWAY, emptied: 1 }, { ...AWAY, end: 1 })).toBe(true)
  expect(await answer({ ...AWAY, end: 1 }, AWAY, { ...AWAY, end: 2 })).toBe(false)
  isSilent = true
  expect(await answer({ ...AWAY, emptied: 1 })).toBe(true)
  await store.close()
})

it('the progress on a shard is read once in a while, and again at once after an error', async () => {
  let now = 5
  let reads = 0
  let isSilent = true
  const store = await openFaulty(({ operation }) => {
    if (operation !== 'flush') return undefined
    reads++
    return isSilent ? gone : undefined
  })
  const time = { ...store.context.time, elapsed: () => now }
  const progress = progressIn({ context: { ...store.context, time } })
  const ask = (): Promise<boolean> => progress.hasHandled(0, 7, [AWAY])
  await saveRecords(store, END - 1, [])
  await expect(ask()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  isSilent = false
  expect(await Promise.all([ask(), ask()])).toEqual([false, false])
  expect(reads).toBe(2)
  await saveRecords(store, END, [])
  now += 999
  expect([await ask(), reads]).toEqual([false, 2])
  now += 1
  expect([await ask(), reads]).toEqual([true, 3])
  await store.close()
})

it('a consumer knew no deletions before the floor of its registration, and all of a shard that joined later', async () => {
  await using store = await DataStore.open({ shards: memoryShards(1), migrate: true })
  const { sinceOn } = progressIn(store)
  expect([sinceOn(0), sinceOn(1)]).toEqual([1, 0])
})
