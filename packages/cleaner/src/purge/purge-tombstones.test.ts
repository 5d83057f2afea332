import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { createVersionClock } from '@looseleaf/core/internal'
import { changeServes } from '@looseleaf/index-engine/internal'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, it } from 'vitest'
import { byUser, openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { sweep } from '../sweep/sweep.ts'
import { PURGE_TASK, purgeTombstones } from './purge-tombstones.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const WEEK = 7 * DAY

let time: LeapingTime
let reference: ReferenceDriver
let store: DataStore

beforeEach(async () => {
  time = leapingTime()
  reference = createReferenceDriver({ shards: 1, now: () => time.now() * 1000 })
  store = await openStore({ driver: reference, time, indexes: [byUser] })
})

const shard = () => reference.shards[0]!

async function purge(): Promise<number> {
  // Writers and consumers raise the floor too.
  await shard().entities.raiseFloor()
  const options = { owner: 'first', leaseMs: 30_000, signal: undefined }
  return (await purgeTombstones(store.context, 0, options)).purged
}

const tombstones = async (): Promise<number> => (await shard().entities.count()).tombstones

async function deleted(bag: object = { user_id: 'ada', published: 1 }): Promise<EntityId> {
  const { id } = await store.put(bag)
  await store.delete(id)
  return id
}

it('a tombstone is purged when it is a week old, and not before', async () => {
  const { id: living } = await store.put({ user_id: 'eve', published: 2 })
  await deleted()
  time.leap(WEEK - HOUR)
  expect(await purge()).toBe(0)
  await deleted()
  time.leap(2 * HOUR)
  expect(await purge()).toBe(1)
  expect(await tombstones()).toBe(1)
  time.leap(WEEK)
  expect(await purge()).toBe(1)
  expect(await tombstones()).toBe(0)
  expect(await store.get(living)).toMatchObject({ user_id: 'eve' })
})

it('each row is read only once over all rounds', async () => {
  for (let n = 0; n < 3; n++) await deleted()
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(3)
  const { progress } = (await shard().tasks.load(PURGE_TASK))!
  const { place } = JSON.parse(progress) as { place: { updated: number } }
  expect(place.updated).toBeGreaterThan((time.now() - WEEK - HOUR) * 1000)
  expect(await purge()).toBe(0)
})

it('the policy `keepTombstonesMs` sets how long tombstones are kept', async () => {
  await deleted()
  await store.setPolicies({ keepTombstonesMs: HOUR })
  time.leap(2 * HOUR)
  expect(await purge()).toBe(1)
  await expect(store.setPolicies({ keepTombstonesMs: HOUR - 1 })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('keepTombstonesMs'),
  })
})

it('a purge does nothing if another process has changed the policy', async () => {
  await store.setPolicies({ keepTombstonesMs: HOUR })
  await deleted()
  time.leap(2 * HOUR)
  const other = await openStore({ driver: reference, time, migrate: false })
  await other.setPolicies({ keepTombstonesMs: WEEK })
  expect(await purge()).toBe(0)
  expect(await tombstones()).toBe(1)
  expect(store.context.catalog.current().policies.keepTombstonesMs).toBe(WEEK)
})

it.each([
  ['leaving', { leaving: [{ move: 1, attempt: 1, buckets: '7', to: 1 }] }],
  ['coming', { coming: [{ move: 1, attempt: 1, buckets: '7', from: 1, afterAddedId: 0 }] }],
])('a shard with %s buckets purges no tombstone and raises no bound', async (_, motion) => {
  await deleted()
  time.leap(WEEK + HOUR)
  const change = async (serves: object): Promise<void> => {
    await changeServes(shard(), (await shard().catalog.load())!, { owns: '0-4095', ...serves })
    await store.context.catalog.reload()
  }
  await change(motion)
  expect(await purge()).toBe(0)
  expect(await tombstones()).toBe(1)
  expect((await shard().entities.floor()).purged).toEqual({ updated: 0, version: 0 })
  await change({})
  expect(await purge()).toBe(1)
})

it('a new entity under a purged id has a greater version, even with a clock that is far behind', async () => {
  const { id } = await store.put({ user_id: 'ada', published: 1 })
  const { version } = await store.put({ user_id: 'ada', published: 2 }, { id })
  await store.delete(id)
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(1)
  const behind = createVersionClock({ ...time, now: () => 1_000 })
  Object.assign(store.context, { clock: behind })
  const again = await store.put({ user_id: 'ada', published: 3 }, { id })
  expect(again.version).toBeGreaterThan(version)
  expect(await byUser.getAll(store, { user_id: 'ada' })).toMatchObject([{ id, published: 3 }])
})

it('an insert that arrives after the entity was deleted and purged does not bring it back', async () => {
  const { id, version } = await store.put({ user_id: 'ada', published: 1 })
  const late = { id: parseId(id), version: version - 1, body: store.context.codec.encode({ late: true }) }
  await store.delete(id)
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(1)
  const { entities } = shard()
  await expect(entities.insert([late], { epoch: 1 })).rejects.toMatchObject({ code: 'STALE_EPOCH' })
  expect(await store.get(id)).toBeUndefined()
})

it('leftover rows of a purged entity are deleted under a new tombstone, which is purged later', async () => {
  const id = await deleted()
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(1)
  const [entry] = store.context.catalog.current().indexes
  const { name: _, ...spec } = { name: '', table: entry!.table, columns: entry!.properties }
  const key = [Buffer.from('ada'), 1n]
  const table = shard().index(spec)
  await table.upsert([{ key, entityId: parseId(id), version: (time.now() - WEEK) * 1000 }])
  await sweep(store)
  expect(await table.scan({ prefix: [], order: 'asc', limit: 10 })).toEqual([])
  expect(await tombstones()).toBe(1)
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(1)
  await sweep(store)
  expect(await tombstones()).toBe(0)
})

it('the purge returns to a tombstone of a clock that was ahead', async () => {
  const { id } = await store.put({ user_id: 'ada', published: 1 })
  const ahead = (time.now() + DAY) * 1000
  const [row] = await shard().entities.read([parseId(id)])
  await shard().entities.replace([{ ...row!, base: row!.version, version: ahead, body: null }], { epoch: 1 })
  await deleted()
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(1)
  expect(await purge()).toBe(0)
  time.leap(DAY)
  expect(await purge()).toBe(1)
  expect(await tombstones()).toBe(0)
})

it('tombstones of a clock that stays ahead are purged while more of them are written', async () => {
  const { entities } = shard()
  let purged = 0
  for (let hours = 0; hours < 10 * 24; hours += 6) {
    const { id, version } = await store.put({ user_id: 'ada', published: 1 })
    const ahead = (time.now() + DAY) * 1000
    await entities.replace([{ id: parseId(id), base: version, version: ahead, body: null }], { epoch: 1 })
    time.leap(6 * HOUR)
    purged += await purge()
  }
  expect(purged).toBeGreaterThanOrEqual(4)
  time.leap(WEEK + 2 * DAY)
  expect(await purge()).toBe(10 * 4 - purged)
})

it('a database clock that is ahead causes no early purge', async () => {
  await deleted()
  const { floor } = shard().entities
  const { now } = await floor()
  shard().entities.floor = async () => ({ ...(await floor()), now: now + 2 * WEEK * 1000 })
  expect(await purge()).toBe(0)
})

it('a round purges several pages of tombstones, and the next one goes on behind them', async () => {
  const ids = Array.from({ length: 1_100 }, () => store.newId())
  await store.putMany(ids.map((id) => ({ id, n: 1 })))
  for (const id of ids) await store.delete(id)
  const { id: living } = await store.put({ n: 2 })
  time.leap(WEEK + HOUR)
  const { pageOfChanges } = shard().entities
  let pages = 0
  shard().entities.pageOfChanges = (...args) => (pages++, pageOfChanges(...args))
  expect(await purge()).toBe(1_100)
  expect([pages, await tombstones()]).toEqual([3, 0])
  expect(await purge()).toBe(0)
  expect(pages).toBe(3)
  expect(await store.get(living)).toMatchObject({ n: 2 })
})

it('a round does nothing while another process purges the shard', async () => {
  await deleted()
  time.leap(WEEK + HOUR)
  await shard().tasks.claim(PURGE_TASK, 'second', 30_000)
  expect(await purge()).toBe(0)
  time.leap(30_000)
  expect(await purge()).toBe(1)
  // The lease ends with the round.
  expect(await shard().tasks.claim(PURGE_TASK, 'second', 30_000)).toBeDefined()
})

it('a round purges nothing if the catalog changes while it runs, and learns the new one', async () => {
  await deleted()
  time.leap(WEEK + HOUR)
  const { raisePurged } = shard().entities
  const other = await openStore({ driver: reference, time, migrate: false })
  shard().entities.raisePurged = async (...args) => {
    shard().entities.raisePurged = raisePurged
    await other.setPolicies({ keepTombstonesMs: 4 * WEEK })
    return raisePurged(...args)
  }
  expect([await purge(), await tombstones()]).toEqual([0, 1])
  expect(store.context.catalog.current().policies.keepTombstonesMs).toBe(4 * WEEK)
  shard().entities.raisePurged = () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.'))
  time.leap(3 * WEEK)
  await expect(purge()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
})

it('the bounds of a purge are just above the latest purged tombstone', async () => {
  await deleted()
  const { id, version } = await store.put({ n: 1 })
  await store.delete(id)
  const [tombstone] = await shard().entities.read([parseId(id)])
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(2)
  expect(tombstone!.version).toBeGreaterThan(version)
  expect((await shard().entities.floor()).purged).toEqual({
    updated: tombstone!.updated + 1,
    version: tombstone!.version + 1,
  })
})

it('tombstones that are kept for a failover are kept longer than others', async () => {
  await deleted()
  await store.setPolicies({ keepTombstonesMs: HOUR, deleteDelayMs: 2 * HOUR })
  time.leap(HOUR + 120_000)
  expect(await purge()).toBe(0)
  time.leap(HOUR)
  expect(await purge()).toBe(1)
})

it('a tombstone with an invalid version is left alone', async () => {
  const { epoch } = (await shard().catalog.load())!
  await shard().entities.insert([{ id: parseId(store.newId()), version: 0, body: null }], { epoch })
  time.leap(WEEK + HOUR)
  expect([await purge(), await tombstones()]).toEqual([0, 1])
})

it('the purge returns to the first of the tombstones of several pages that it passed over, once all are due', async () => {
  const { entities } = shard()
  const passOver = async (aheadMs: number): Promise<void> => {
    const { id, version } = await store.put({ n: 1 })
    const ahead = (time.now() + aheadMs) * 1000
    await entities.replace([{ id: parseId(id), base: version, version: ahead, body: null }], { epoch: 1 })
  }
  await passOver(2 * DAY)
  await store.putMany(Array.from({ length: 600 }, (_, n) => ({ n })))
  await passOver(DAY)
  const purged: number[] = []
  for (const later of [WEEK + HOUR, DAY, DAY]) {
    time.leap(later)
    purged.push(await purge())
  }
  expect(purged).toEqual([0, 0, 2])
})
