import { LooseleafError, parseId, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { expect, test } from 'vitest'
import {
  addRow,
  byUser,
  entryOf,
  expectedRows,
  openStore,
  QUERY_TIME_MS,
  rowFor,
  rowsIn,
  shared,
} from '../../test/stores.ts'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { tunedCheckIndex } from '../check/check-index.ts'
import { cleanIndex, tunedCleanIndex } from '../clean/clean-index.ts'
import { indexTarget } from '../pass/index-target.ts'
import { tunedSweep } from '../sweep/sweep.ts'
import { sweepIndex } from '../../test/sweeps.ts'
import { createKeptRemovals } from './kept-removals.ts'

const ada = { user_id: 'ada', published: 1 }
const eve = { user_id: 'eve', published: 1 }

/** A pause, and the number of rows at its start. */
interface Pause {
  readonly milliseconds: number
  readonly rows: number
}

/** The faults of an entity-first writer that commits, and then cannot write its rows. */
const refuseRows: FaultPlan = ({ table, operation }) =>
  table.startsWith('index_') && operation === 'upsert'
    ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Down, on purpose.')) }
    : undefined

/** Opens a store whose pauses are recorded and end at once. */
async function watched(
  onPause = async (_: DataStore): Promise<void> => undefined,
): Promise<{ store: DataStore; pauses: Pause[] }> {
  const pauses: Pause[] = []
  const leaping = leapingTime()
  const time: Time = {
    now: leaping.now,
    async sleep(milliseconds, signal) {
      pauses.push({ milliseconds, rows: (await rowsIn(store, 'by_user')).length })
      await onPause(store)
      await leaping.sleep(milliseconds, signal)
    },
  }
  const driver = await memoryShards(2).connect()
  const store: DataStore = await openStore({ driver, time })
  return { store, pauses }
}

test.each([
  ['an earlier version', 0, {}],
  ['an attempt that is fenced', 5, { graceMs: 0 }],
])('a row of %s is kept for as long as a query may take', async (_, ahead, options) => {
  const { store, pauses } = await watched()
  const { id, version } = await store.put(ada)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version + ahead))
  expect(await sweepIndex(store, options)).toMatchObject({ removed: 1 })
  expect(pauses.reduce((sum, { milliseconds }) => sum + milliseconds, 0)).toBeGreaterThan(QUERY_TIME_MS)
  for (const { rows } of pauses) expect(rows).toBe(2)
  expect(await rowsIn(store, 'by_user')).toHaveLength(1)
})

test('a row that was judged under a shorter `deleteDelayMs` stays, even if another process set the longer one', async () => {
  let isSet = false
  const { store } = await watched(async ({ context: { driver } }) => {
    if (isSet) return
    isSet = true
    await (await openStore({ driver })).setPolicies({ deleteDelayMs: 60_000 })
  })
  const { id, version } = await store.put(ada)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version))
  expect(await sweepIndex(store)).toMatchObject({ removed: 0 })
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
  await store.setPolicies({ deleteDelayMs: 0 })
  expect(await sweepIndex(store)).toMatchObject({ removed: 1 })
})

test('a row is not deleted by the policies of the first shard alone, which a failover may have put back', async () => {
  let isSet = false
  const { store } = await watched(async ({ context: { driver } }) => {
    if (isSet) return
    isSet = true
    const [first] = driver.shards
    const before = (await first!.catalog.load())!
    await (await openStore({ driver })).setPolicies({ deleteDelayMs: 60_000 })
    const { epoch } = (await first!.catalog.load())!
    await first!.catalog.change(before, epoch)
  })
  let id = store.newId()
  while (store.context.router.shardOfId(parseId(id)) === 0) id = store.newId()
  const { version } = await store.put(ada, { id })
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version))
  expect(await sweepIndex(store)).toMatchObject({ removed: 0 })
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
})

test.each([
  ['was deleted', (store: DataStore, id: string) => store.delete(id)],
  ['has lost the property', (store: DataStore, id: string) => store.put({ other: 1 }, { id })],
])('a row of an entity that %s is deleted at once', async (_, change) => {
  const { store, pauses } = await watched()
  const { id } = await store.put(ada)
  await change(store, id)
  await store.settled()
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, 1))
  pauses.length = 0
  expect(await sweepIndex(store)).toMatchObject({ removed: 1 })
  expect(pauses).toEqual([])
})

test('one wait covers any number of pages', async () => {
  const { store, pauses } = await watched()
  for (let i = 0; i < 40; i++) {
    const { id, version } = await store.put({ user_id: `user ${i}`, published: i })
    await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: i }, version))
  }
  expect(await tunedSweep(store, { pageSize: 4 })).toMatchObject({ removed: 40 })
  expect(pauses).toHaveLength(1)
  pauses.length = 0
  for (let i = 0; i < 40; i++) {
    const { id, version } = await store.put({ user_id: `user ${i}`, published: i })
    await addRow(store, 'by_user', rowFor(store, 'by_user', id, { user_id: 'eve', published: i }, version))
  }
  expect(await tunedCleanIndex(store, 'by_user', { pageSize: 4, shardsAtOnce: 1 })).toMatchObject({
    removed: 40,
  })
  expect(pauses.filter(({ milliseconds }) => milliseconds > QUERY_TIME_MS)).toHaveLength(1)
})

test('a row whose delete failed is deleted by the run that resumes the work', async () => {
  let isRefused = false
  const plan: FaultPlan = ({ operation }) => {
    if (isRefused || operation !== 'remove') return undefined
    isRefused = true
    return {
      before() {
        throw new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down (a fault on purpose).')
      },
    }
  }
  const store = await openStore({ driver: faultyDriver(await memoryShards(2).connect(), plan) })
  const { id, version } = await store.put(ada)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, version))
  await expect(cleanIndex(store, 'by_user')).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
  await cleanIndex(store, 'by_user')
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test.each([
  ['has it again', 1, 0],
  ['still has another row', 1, 1],
  ['is deleted', 0, 1],
])('a row is kept for an entity, which then %s', async (outcome, rows, removed) => {
  const memory = await memoryShards(2).connect()
  const writer = await DataStore.open({
    shards: shared(faultyDriver(memory, refuseRows)),
    writeOrder: 'entity-first',
    indexes: [byUser],
    migrate: true,
    queryTimeMs: QUERY_TIME_MS,
  })
  const leaping = leapingTime()
  const time: Time = {
    now: leaping.now,
    async sleep(milliseconds, signal) {
      if (outcome === 'has it again') await writer.put(eve, { id })
      else if (outcome === 'is deleted') await writer.delete(id)
      await leaping.sleep(milliseconds, signal)
    },
  }
  const store = await openStore({ driver: memory, time })
  const { id } = await store.put(ada)
  await addRow(store, 'by_user', rowFor(store, 'by_user', id, eve, 1))
  expect(await sweepIndex(store)).toMatchObject({ removed })
  expect((await store.getAll(byUser, eve)).length).toBe(outcome === 'has it again' ? 1 : 0)
  expect((await store.getAll(byUser, ada)).length + (await store.getAll(byUser, eve)).length).toBe(rows)
})

test('a row that its entity has again when it is deleted is written again', async () => {
  const memory = await memoryShards(2).connect()
  const writer = await DataStore.open({
    shards: shared(faultyDriver(memory, refuseRows)),
    writeOrder: 'entity-first',
    indexes: [byUser],
    migrate: true,
    queryTimeMs: QUERY_TIME_MS,
  })
  const plan: FaultPlan = ({ table, operation }) =>
    table.startsWith('index_') && operation === 'remove'
      ? { before: async () => void (await writer.put(ada, { id })) }
      : undefined
  const store = await openStore({ driver: faultyDriver(memory, plan), time: leapingTime() })
  const { id } = await store.put(ada)
  // The entity has no key in the index, so its row is deleted at once.
  await writer.put({ other: 1 }, { id })
  await sweepIndex(store)
  expect(await store.getAll(byUser, ada)).toHaveLength(1)
  expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
})

test('a check does not count a kept row', async () => {
  const { store } = await watched()
  const { id } = await store.put(ada)
  await store.put(eve, { id })
  expect(await tunedCheckIndex(store, 'by_user', { settleMs: 1 })).toMatchObject({ dangling: 0, missing: 0 })
})

test('a deleted row of an entity with an invalid version is not written again', async () => {
  const store = await openStore({ time: leapingTime() })
  const { context } = store
  const id = store.newId()
  const number = context.router.shardOfId(parseId(id))
  const epoch = context.catalog.current().epochs[number]!
  const row = { id: parseId(id), version: 0, body: context.codec.encode(ada) }
  await context.driver.shards[number]!.entities.insert([row], { epoch })
  const placed = rowFor(store, 'by_user', id, ada, 1)
  await addRow(store, 'by_user', placed)
  const removals = createKeptRemovals(context)
  const target = indexTarget(context, entryOf(store, 'by_user'))
  const entity = { id: parseId(id), version: 2, updated: 0, expected: new Map() }
  removals.add({ entity, target, ...placed, misplaced: false }, 2)
  await removals.sendDue(undefined)
  expect(await rowsIn(store, 'by_user')).toEqual([])
})
