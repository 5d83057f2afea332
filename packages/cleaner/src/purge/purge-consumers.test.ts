import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { LooseleafError } from '@looseleaf/core'
import { partitionNumbers, partitionTask, REGISTRY_TASK } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, expect, it } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { leapingTime, type LeapingTime } from '@looseleaf-tooling/kit/times'
import { purgeTombstones } from './purge-tombstones.ts'

const HOUR = 3_600_000
const WEEK = 168 * HOUR

let time: LeapingTime
let reference: ReferenceDriver
let store: DataStore

beforeEach(async () => {
  time = leapingTime()
  reference = createReferenceDriver({ shards: 1, now: () => time.now() * 1000 })
  store = await openStore({ driver: reference, time })
})

const shard = () => reference.shards[0]!

async function purge(): Promise<number> {
  await shard().entities.raiseFloor()
  return (await purgeTombstones(store.context, 0, { owner: 'first', leaseMs: 30_000, signal: undefined }))
    .purged
}

async function save(name: string, value: object): Promise<void> {
  await shard().tasks.claim(name, 'consumer', 1_000)
  await shard().tasks.save(name, 'consumer', JSON.stringify(value), 0)
}

/** Registers a consumer as `@looseleaf/changes` does. */
async function register(begun: number, floor: number): Promise<void> {
  await save(REGISTRY_TASK, { search: { incarnation: 'a', at: 0, begun: [begun], floors: [floor] } })
}

async function saveAll(incarnation: string, updated: number): Promise<void> {
  for (const number of partitionNumbers)
    await save(partitionTask('search', number), { incarnation, updated, addedId: 0 })
}

async function remove(): Promise<void> {
  const { id } = await store.put({ n: 1 })
  await store.delete(id)
}

it('a purge waits for a slow consumer, up to four times as long as tombstones are kept', async () => {
  await register(0, await shard().entities.raiseFloor())
  await remove()
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(0)
  time.leap(3 * WEEK - 2 * HOUR)
  expect(await purge()).toBe(0)
  time.leap(2 * HOUR)
  expect(await purge()).toBe(1)
})

it('a purge goes up to the slowest partition of a consumer, and ignores places of a dropped consumer of its name', async () => {
  await register(0, await shard().entities.raiseFloor())
  await remove()
  time.leap(HOUR)
  const place = time.now() * 1000
  await saveAll('of one that was dropped', place)
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(0)
  await saveAll('a', place)
  await remove()
  time.leap(WEEK + HOUR)
  expect(await purge()).toBe(1)
  await saveAll('a', time.now() * 1000)
  expect(await purge()).toBe(1)
})

it('a purge waits while a shard does not answer that may be the only one with a consumer', async () => {
  const shards = createReferenceDriver({ shards: 2, now: () => time.now() * 1000 })
  let isSilent = false
  const driver = faultyDriver(shards, ({ shard: number, table }) =>
    isSilent && number === 1 && table === 'tasks'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Down, on purpose.')) }
      : undefined,
  )
  const { context } = (store = await openStore({ driver, time }))
  const [joined, known] = shards.shards
  const floors = await Promise.all(shards.shards.map(({ entities }) => entities.raiseFloor()))
  await known!.tasks.claim(REGISTRY_TASK, 'consumer', 1_000)
  const registry = { search: { incarnation: 'a', at: 0, begun: [0, 0], floors } }
  await known!.tasks.save(REGISTRY_TASK, 'consumer', JSON.stringify(registry), 0)
  const id = idOn(store, 0)
  await store.put({ n: 1 }, { id })
  await store.delete(id)
  time.leap(WEEK + HOUR)
  await joined!.entities.raiseFloor()
  const purging = () => purgeTombstones(context, 0, { owner: 'first', leaseMs: 30_000, signal: undefined })
  isSilent = true
  await expect(purging()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  isSilent = false
  expect(await purging()).toMatchObject({ purged: 0 })
  time.leap(3 * WEEK)
  await joined!.entities.raiseFloor()
  expect(await purging()).toMatchObject({ purged: 1 })
})
