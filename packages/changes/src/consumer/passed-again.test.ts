import { parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { partitionNumbers } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gone } from '../../test/search.ts'
import { readLetters } from '../records/dead-letters.ts'
import type { Failing, PassedOn } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'
import { createPassedChanges, type PassedChanges } from './passed-changes.ts'

const DELAY_MS = 1_000
/** The buckets have left the shard for the last time at this place. */
const END = 100

let memory: Driver
let store: DataStore
let context: EngineContext
let now: number
let isSilent: boolean
let partition: HeldPartition
/** Called with each save of the partitions. */
let onSave: () => void

beforeEach(async () => {
  memory = await memoryShards(3).connect()
  isSilent = false
  onSave = () => {}
  const faulty = faultyDriver(memory, ({ shard }) => (isSilent && shard === 2 ? gone : undefined))
  store = await DataStore.open({ shards: keepOpen(faulty), migrate: true, deleteDelayMs: DELAY_MS })
  now = store.context.time.now()
  context = { ...store.context, time: { ...store.context.time, now: () => now } }
  partition = { number: 0, place: { updated: END, addedId: 0 }, since: 0, failing: new Map(), isHeld: true }
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Makes an id that a shard owns. */
function idOn(shard: number): EntityId {
  for (;;) {
    const id = store.newId()
    if (context.catalog.current().placement.shardOfId(parseId(id)) === shard) return id
  }
}

function fail(id: EntityId, passed?: PassedOn): Failing {
  const change = { id, version: 1, attempts: 1, error: '', failedAt: 1, passed }
  partition.failing.set(id, change)
  return change
}

function createPassing(end = (): number => END): PassedChanges {
  const moved = {
    isOver: (_: Uint8Array, { updated }: { updated: number }) => updated >= end(),
    learn: async () => {},
  }
  return createPassedChanges(context, {
    shard: 0,
    consumer: 'search',
    moved,
    leases: { save: async () => onSave() },
  })
}

/** Passes changes on as a round of the consumer does. */
async function pass(passing: PassedChanges): Promise<void> {
  const due = await passing.due([partition], {})
  if (due.length > 0) await passing.passOn(due, {})
}

/** Returns the changes that a shard was given, and takes them out of its lists. */
async function lettersOn(shard: number): Promise<readonly string[]> {
  const { moved } = await readLetters(store.context, 'search', shard, partitionNumbers, {})
  const { tasks } = memory.shards[shard]!
  for (const number of partitionNumbers) {
    const task = `consume/search/${number}/moved`
    if ((await tasks.claim(task, 'a test', 1_000)) !== undefined) await tasks.save(task, 'a test', '', 0)
  }
  return [...moved.values()].flat().map(({ id }) => id)
}

test('a process that has not looked at the buckets yet leaves changes as they were passed on', async () => {
  const change = fail(idOn(1), { to: 1, at: now, behind: END })
  let hasLooked = false
  const passing = createPassing(() => (hasLooked ? END : Infinity))
  await pass(passing)
  hasLooked = true
  await pass(passing)
  expect(await lettersOn(1)).toEqual([])
  expect([...partition.failing.values()]).toEqual([change])
})

test('a change is passed on at once if its entity has come back and left again since', async () => {
  const { id } = fail(idOn(1), { to: 1, at: now, behind: END - 1 })
  await pass(createPassing())
  expect(await lettersOn(1)).toEqual([id])
  expect(partition.failing.get(id)?.passed).toEqual({ to: 1, at: now, behind: END })
})

test('a change whose entity came back and left again is kept for the time of a failover, although its first pass is long ago', async () => {
  const { id } = fail(idOn(1), { to: 1, at: now - DELAY_MS, behind: END - 1 })
  await pass(createPassing())
  expect(partition.failing.get(id)?.passed).toEqual({ to: 1, at: now, behind: END })
})

test('a change is forgotten only after it was passed on twice to the same owner', async () => {
  const passing = createPassing()
  const { id } = fail(idOn(1), { to: 2, at: now - DELAY_MS, behind: END })
  await pass(passing)
  expect(await lettersOn(1)).toEqual([id])
  expect(partition.failing.get(id)?.passed).toEqual({ to: 1, at: now, behind: END })
  now += DELAY_MS - 1
  await pass(passing)
  expect(await lettersOn(1)).toEqual([])
  now += 1
  await pass(passing)
  expect(await lettersOn(1)).toEqual([id])
  expect(partition.failing.size).toBe(0)
})

test('a change whose time is ahead of the clock is passed on anew', async () => {
  const { id } = fail(idOn(1), { to: 1, at: now + 1, behind: END })
  await pass(createPassing())
  expect(partition.failing.get(id)?.passed).toEqual({ to: 1, at: now, behind: END })
})

test('a change is passed on once to a shard that answers, while the owner of another one does not', async () => {
  const [first, second] = [fail(idOn(2)), fail(idOn(1))]
  isSilent = true
  const passing = createPassing()
  await expect(pass(passing)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await lettersOn(1)).toEqual([second.id])
  await expect(pass(passing)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await lettersOn(1)).toEqual([])
  expect(partition.failing.get(first.id)).toBe(first)
})

test('a process with an old layout passes a change to the shard that has its entity by now', async () => {
  const { id } = fail(idOn(1))
  const bucket = `${bucketsOf(context.router)!.ofId(parseId(id))}`
  await using mover = await DataStore.open({ shards: keepOpen(memory), time: leapingTime() })
  await mover.shards.move({ from: 1, to: 2, buckets: bucket })
  expect(context.catalog.current().placement.shardOfId(parseId(id))).toBe(1)
  await pass(createPassing())
  expect([await lettersOn(1), await lettersOn(2)]).toEqual([[], [id]])
})

test('the places are saved before a change is passed on, and the change after that', async () => {
  const { id } = fail(idOn(1))
  const saved: unknown[] = []
  onSave = () => void saved.push(partition.failing.get(id)?.passed?.to)
  await pass(createPassing())
  expect(saved).toEqual([undefined, 1])
})

test('the changes of a partition that is lost by the save before are not passed on', async () => {
  const { id } = fail(idOn(1))
  onSave = () => {
    partition.isHeld = false
  }
  await pass(createPassing())
  expect([await lettersOn(1), partition.failing.get(id)?.passed]).toEqual([[], undefined])
})

test('only changes that stay for the time of a failover do not count among those of a partition', async () => {
  fail(idOn(1), { to: 1, at: now, behind: END })
  fail(idOn(1), { to: 1, at: now, behind: END - 1 })
  fail(idOn(1))
  expect(createPassing().countOpen(partition)).toBe(2)
  expect(createPassing(() => Infinity).countOpen(partition)).toBe(3)
})
