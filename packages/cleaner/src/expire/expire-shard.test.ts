import { LooseleafError, parseId, type Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { byUser, openStore, rowsIn, tableOf } from '../../test/stores.ts'
import { leapingTime, until } from '@looseleaf-tooling/kit/times'
import { startTunedCleaner } from '../background/start-cleaner.ts'
import { cleanIndex } from '../clean/clean-index.ts'
import { createPass } from '../pass/pass.ts'
import { deleteExpired } from './delete-expired.ts'
import { expireShard } from './expire-shard.ts'

const expiring = defineIndex('sessions_expire', {
  properties: { until: 'time' },
  shardOn: 'id',
  on: { kind: 'session' },
  expires: 'until',
})
const MINUTE = 60_000

let store: DataStore
let plan: FaultPlan
let statements: string[]

const open = async (time: Time = systemTime): Promise<DataStore> => {
  const driver = faultyDriver(await memoryShards(2).connect(), (call) => {
    statements.push(call.operation)
    return plan(call)
  })
  const opened = await openStore({ driver, indexes: [expiring, byUser], time })
  onTestFinished(() => opened.close())
  return opened
}

beforeEach(async () => {
  statements = []
  plan = () => undefined
  store = await open()
})

const ago = (milliseconds: number): Date => new Date(Date.now() - milliseconds)

/** Puts a session that expired this many milliseconds ago. */
async function put(milliseconds: number, into: DataStore = store): Promise<string> {
  const bag = { kind: 'session', until: ago(milliseconds), user_id: 'ada', published: 1 }
  return (await into.put(bag)).id
}

test('entities that expired at least a minute ago are deleted, and others stay', async () => {
  const gone = [await put(MINUTE + 1_000), await put(24 * 60 * MINUTE)]
  const staying = [
    await put(MINUTE - 10_000),
    await put(-MINUTE),
    (await store.put({ kind: 'other', until: ago(2 * MINUTE) })).id,
    (await store.put({ kind: 'session', until: null })).id,
  ]
  expect(await deleteExpired(store)).toBe(2)
  for (const id of gone) expect(await store.get(id)).toBeUndefined()
  for (const id of staying) expect(await store.get(id)).toBeDefined()
  expect(await deleteExpired(store)).toBe(0)
  // The rows of the deleted entities dangle until a clean deletes them.
  expect(await rowsIn(store, 'by_user')).toHaveLength(4)
  expect(await cleanIndex(store)).toMatchObject({ removed: 4, complete: true })
  expect(await rowsIn(store, 'by_user')).toHaveLength(2)
})

test('an entity whose expiry is postponed after it was read stays', async () => {
  const id = await put(2 * MINUTE)
  plan = ({ operation, number, args }) => {
    const [rows] = args as [readonly { body: unknown }[]]
    if (operation !== 'replace' || number > 1 || rows[0]?.body !== null) return undefined
    return { before: async () => void (await store.update(id, (bag) => ({ ...bag, until: ago(-MINUTE) }))) }
  }
  expect(await deleteExpired(store)).toBe(0)
  expect(await store.get(id)).toMatchObject({ user_id: 'ada' })
})

test('a lost row with an earlier expiry does not delete its entity', async () => {
  const id = await put(2 * MINUTE)
  await store.settled()
  plan = ({ operation }) =>
    operation === 'remove' ? { before: () => Promise.reject(new Error('Not now.')) } : undefined
  await store.update(id, (bag) => ({ ...bag, until: ago(-MINUTE) }))
  expect(await deleteExpired(store)).toBe(0)
  expect(await store.get(id)).toBeDefined()
})

test.each([
  ['the database', 60 * MINUTE],
  ['the process', -60 * MINUTE],
])('the clock of %s decides on a deletion if it is behind the other one', async (_, ahead) => {
  const other = await open({ ...systemTime, now: () => Date.now() + ahead })
  const id = await put(Math.max(0, -ahead) / 2 + 2 * MINUTE - Math.max(0, ahead) / 2, other)
  expect(await deleteExpired(other)).toBe(0)
  expect(await other.get(id)).toBeDefined()
  const expired = await put(Math.max(0, -ahead) + 2 * MINUTE, other)
  expect(await deleteExpired(other)).toBe(1)
  expect(await other.get(expired)).toBeUndefined()
})

test('a round reads `maxRows` rows, earliest expiry first', async () => {
  const single = await openStore({ shards: 1, indexes: [expiring] })
  onTestFinished(() => single.close())
  const ids: string[] = []
  for (let i = 0; i < 7; i++) ids.push(await put((10 - i) * MINUTE, single))
  const pass = createPass(single.context)
  expect(await expireShard(pass, 0, 3)).toEqual({ deleted: 3, isFull: true })
  expect((await single.getMany(ids)).map((found) => found === undefined)).toEqual(ids.map((_, i) => i < 3))
})

test('a round counts the entities that each of its statements deletes', async () => {
  const single = await openStore({ shards: 1, indexes: [expiring] })
  onTestFinished(() => single.close())
  await single.putMany(Array.from({ length: 51 }, () => ({ kind: 'session', until: ago(2 * MINUTE) })))
  expect(await expireShard(createPass(single.context), 0, 100)).toEqual({ deleted: 51, isFull: false })
})

test('a round of several pages sums its deletions, and reads the time of the database once', async () => {
  await store.putMany(Array.from({ length: 450 }, () => ({ kind: 'session', until: ago(2 * MINUTE) })))
  statements = []
  expect(await deleteExpired(store)).toBe(450)
  expect(statements.filter((operation) => operation === 'now')).toHaveLength(2)
})

test('`rowsPerSecond` limits the rows that are read', async () => {
  const time = leapingTime()
  const other = await open(time)
  for (let n = 0; n < 6; n++) await put(2 * MINUTE, other)
  await deleteExpired(other, { rowsPerSecond: 2 })
  expect(time.slept).toBeCloseTo(3_000)
})

test('an entity that expired exactly a minute ago is deleted', async () => {
  const time = leapingTime()
  // The clock of the database must not be behind this one.
  time.leap(-1_000)
  const other = await open(time)
  const { id } = await other.put({ kind: 'session', until: new Date(time.now() - MINUTE) })
  expect(await deleteExpired(other)).toBe(1)
  expect(await other.get(id)).toBeUndefined()
})

test('a lost row does not delete an entity that expires no more', async () => {
  const id = await put(2 * MINUTE)
  const table = tableOf(store, 'sessions_expire', store.context.router.shardOfId(parseId(id)))
  const rows = await table.scan({ prefix: [], order: 'asc', limit: 2 })
  await store.update(id, (bag) => ({ ...bag, kind: 'other' }))
  await table.upsert(rows)
  expect(rows).toHaveLength(1)
  expect(await deleteExpired(store)).toBe(0)
  expect(await store.get(id)).toMatchObject({ kind: 'other' })
})

test('a later generation of another index does not keep entities', async () => {
  await put(2 * MINUTE)
  await store.addIndex({ ...byUser, shardOn: 'id' })
  await cleanIndex(store)
  expect(await deleteExpired(store)).toBe(1)
})

test('a shard whose catalog has changed deletes nothing until its catalog is read again', async () => {
  const id = await put(2 * MINUTE)
  let isFirst = true
  plan = ({ operation }) => {
    if (operation === 'load') return { after: () => new Promise((resolve) => setTimeout(resolve, 5)) }
    if (operation !== 'replace' || !isFirst) return undefined
    isFirst = false
    return { before: () => Promise.reject(new LooseleafError('STALE_EPOCH', 'The catalog has changed.')) }
  }
  const before = statements.length
  expect(await deleteExpired(store)).toBe(0)
  expect(statements.slice(before)).toContain('load')
  expect(await deleteExpired(store)).toBe(1)
  expect(await store.get(id)).toBeUndefined()
})

test('another error of a deletion is thrown', async () => {
  await put(2 * MINUTE)
  plan = ({ operation }) =>
    operation === 'replace'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
      : undefined
  await expect(deleteExpired(store)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
})

test('a round resumes where the one before ended, past rows of deleted entities', async () => {
  const single = await openStore({ shards: 1, indexes: [expiring] })
  onTestFinished(() => single.close())
  for (let i = 0; i < 7; i++) await put((10 - i) * MINUTE, single)
  const pass = createPass(single.context)
  const places = new Map()
  // No cleaner runs, so the rows of deleted entities stay.
  const rounds = []
  for (let round = 0; round < 4; round++) rounds.push(await expireShard(pass, 0, 3, places))
  expect(rounds).toEqual([
    { deleted: 3, isFull: true },
    { deleted: 3, isFull: true },
    { deleted: 1, isFull: false },
    { deleted: 0, isFull: true },
  ])
})

test('an index that is being filled, or hidden, causes no deletion', async () => {
  const empty = await openStore({ indexes: [] })
  onTestFinished(() => empty.close())
  const id = await put(2 * MINUTE, empty)
  await empty.addIndex(expiring)
  expect(await deleteExpired(empty)).toBe(0)
  await cleanIndex(empty, 'sessions_expire')
  await empty.hideIndex('sessions_expire')
  expect(await deleteExpired(empty)).toBe(0)
  await empty.restoreIndex('sessions_expire')
  expect(await deleteExpired(empty)).toBe(1)
  expect(await empty.get(id)).toBeUndefined()
})

/** The next generation of `expiring`, with the time at another path. */
const moved = defineIndex('sessions_expire', {
  properties: { purge_at: 'time' },
  shardOn: 'id',
  on: { kind: 'session' },
  expires: 'purge_at',
})

test('no entity is deleted by an index of which a newer generation exists', async () => {
  const old = await put(2 * MINUTE)
  const living = await store.put({ kind: 'session', until: ago(2 * MINUTE), purge_at: ago(-MINUTE) })
  const gone = await store.put({ kind: 'session', until: ago(3 * MINUTE), purge_at: ago(2 * MINUTE) })
  await store.addIndex(moved)
  expect(await deleteExpired(store)).toBe(0)
  await cleanIndex(store)
  expect(await deleteExpired(store)).toBe(1)
  expect(await store.get(gone.id)).toBeUndefined()
  for (const id of [old, living.id]) expect(await store.get(id)).toBeDefined()
})

test('an entity that lives by another generation stays until that generation is hidden', async () => {
  const bag = { kind: 'session', until: ago(-MINUTE), purge_at: ago(2 * MINUTE) }
  const { id } = await store.put(bag)
  await store.addIndex(moved)
  await cleanIndex(store)
  expect(await deleteExpired(store)).toBe(0)
  expect(await store.get(id)).toBeDefined()
  await store.hideIndex({ name: 'sessions_expire', generation: 1 })
  expect(await deleteExpired(store)).toBe(1)
})

test('a hidden newest generation keeps the older ones from deleting', async () => {
  const id = await put(2 * MINUTE)
  await store.addIndex(moved)
  await cleanIndex(store)
  await store.hideIndex({ name: 'sessions_expire', generation: 2 })
  expect(await deleteExpired(store)).toBe(0)
  await store.dropIndex({ name: 'sessions_expire', generation: 2 })
  expect(await deleteExpired(store)).toBe(1)
  expect(await store.get(id)).toBeUndefined()
})

test('the time of the database is not read while no row is due', async () => {
  await put(-MINUTE)
  statements = []
  await deleteExpired(store)
  expect(statements).toEqual(['scan', 'scan'])
})

test('an entity with a damaged body is reported and not deleted', async () => {
  const id = await put(2 * MINUTE)
  const problems: string[] = []
  const { bodies, codec } = store.context
  const damaged = {
    context: {
      ...store.context,
      bodies: { ...bodies, decode: (body: Uint8Array) => codec.decode(body.subarray(0, 4)) },
    },
  }
  expect(
    await deleteExpired(damaged, { onProblem: ({ kind, entity }) => problems.push(`${kind} ${entity}`) }),
  ).toBe(0)
  expect(problems).toEqual([`undecodable ${id}`])
})

test('a cleaner deletes expired entities on the shards that it follows, with their index rows', async () => {
  for (let i = 0; i < 20; i++) await put((2 + i) * MINUTE)
  const stays = await put(-MINUTE)
  const errors: unknown[] = []
  const options = { intervalMs: 5, idleIntervalMs: 5, onError: (error: unknown) => errors.push(error) }
  const cleaner = startTunedCleaner(store, options)
  onTestFinished(() => cleaner.stop())
  await until(() => cleaner.status().shards.every(({ isMine }) => isMine))
  const idle = startTunedCleaner(store, options)
  onTestFinished(() => idle.stop())
  await until(async () => (await rowsIn(store, 'sessions_expire')).length === 1)
  await until(async () => (await rowsIn(store, 'by_user')).length === 1)
  expect(cleaner.status().expired).toBe(20)
  expect(idle.status().expired).toBe(0)
  expect(await store.get(stays)).toBeDefined()
  expect(errors).toEqual([])
})
