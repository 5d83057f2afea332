import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { changeCursor } from './change-cursor.ts'
import type { ChangesOptions, EntityChange } from './changes.ts'

const POLL_MS = 10

let memory: Driver
let store: DataStore
let plan: FaultPlan

beforeEach(async () => {
  memory = await memoryShards(1).connect()
  plan = () => undefined
  const driver = faultyDriver(memory, (call) => plan(call))
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
})

afterEach(async () => {
  await store.close()
  await memory.close()
})

/** Takes the next `count` changes. */
async function take(count: number, options: ChangesOptions = {}): Promise<EntityChange[]> {
  const taken: EntityChange[] = []
  for await (const change of store.changes({ pollMs: POLL_MS, ...options })) {
    taken.push(change)
    if (taken.length === count) break
  }
  return taken
}

/** Purges tombstones, as the cleaner does. */
async function purge(id: EntityId): Promise<void> {
  const { entities } = memory.shards[0]!
  const key = parseId(id)
  const [row] = await entities.read([key])
  await entities.raisePurged({ updated: row!.updated + 1, version: row!.version + 1 }, { epoch: 1 })
  expect(await entities.purge([key])).toBe(1)
}

it('a cursor before a deletion whose tombstone was purged is rejected', async () => {
  const { id } = await store.put({ n: 1 })
  const [{ cursor } = { cursor: '' }] = await take(1, { from: 'beginning' })
  await store.delete(id)
  await purge(id)
  await store.put({ n: 2 })
  await expect(take(1, { from: cursor })).rejects.toMatchObject({
    code: 'CHANGES_GONE',
    retryable: false,
    message: expect.stringMatching(/tombstones after this place .*'beginning'/),
  })
})

it('a cursor after the deletion continues after the purge, even if the deletion was the last write', async () => {
  const { id } = await store.put({ n: 1 })
  const [first] = await take(1, { from: 'beginning' })
  await store.delete(id)
  const [last] = await take(1, { from: first!.cursor })
  await purge(id)
  const { id: next } = await store.put({ n: 2 })
  expect(await take(1, { from: last!.cursor })).toMatchObject([{ id: next }])
})

it('a follower that begins after a purge receives all entities, and its cursors are valid', async () => {
  const { id: old } = await store.put({ n: 0 })
  const { id } = await store.put({ n: 1 })
  await store.delete(id)
  await memory.shards[0]!.entities.raiseFloor()
  await purge(id)
  const [change] = await take(1, { from: 'beginning' })
  expect(change).toMatchObject({ id: old })
  const { id: next } = await store.put({ n: 2 })
  expect(await take(1, { from: change!.cursor })).toMatchObject([{ id: next }])
})

it('a follower overtaken by a purge between two statements yields no change after the gap', async () => {
  const { id } = await store.put({ n: 1 })
  const [{ cursor } = { cursor: '' }] = await take(1, { from: 'beginning' })
  await store.delete(id)
  await store.put({ n: 2 })
  let overtaken = false
  plan = ({ operation }) => {
    if (operation !== 'pageOfChanges' || overtaken) return undefined
    overtaken = true
    return { before: () => purge(id) }
  }
  await expect(take(1, { from: cursor })).rejects.toMatchObject({ code: 'CHANGES_GONE' })
  expect(overtaken).toBe(true)
})

it('a follower that began at a floor that a failover has lost is rejected after a purge of later writes', async () => {
  const { storeId } = store.context.catalog.current()
  const lost = (Date.now() + 3_600_000) * 1000
  const { id } = await store.put({ n: 1 })
  const [{ cursor } = { cursor: '' }] = await take(1, {
    from: changeCursor(storeId, [{ updated: 0, addedId: 0, since: lost }]),
  })
  await store.delete(id)
  await purge(id)
  await store.put({ n: 2 })
  await expect(take(1, { from: cursor })).rejects.toMatchObject({ code: 'CHANGES_GONE' })
})

it('a follower starts at the beginning although a shard does not answer its first look', async () => {
  const { id } = await store.put({ n: 1 })
  let looks = 0
  plan = ({ operation }) => {
    if (operation !== 'floor' || ++looks > 1) return undefined
    return { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is not there.')) }
  }
  expect(await take(1, { from: 'beginning' })).toMatchObject([{ id }])
  expect(looks).toBeGreaterThan(1)
})
