import { parseId, type Driver, type EntityId, type Time } from '@looseleaf/core'
import type { EntityRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes } from '@looseleaf/index-engine/internal'
import { keepOpen } from '@looseleaf/testkit'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

const MAX_STALENESS_MS = 1_000

let memory: Driver
let elapsed: number
let own: DataStore
let other: DataStore
let id: EntityId
/** Ends the pauses between two looks for changes. */
let wake: (() => void)[]

const time: Time = {
  now: () => Date.now() + elapsed,
  elapsed: () => elapsed,
  sleep: (ms) =>
    ms < MAX_STALENESS_MS / 4
      ? new Promise((resolve) => setImmediate(resolve))
      : new Promise((resolve) => wake.push(resolve)),
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  elapsed = 0
  wake = []
  other = await DataStore.open({ shards: keepOpen(memory), migrate: true })
  const cache = { maxBytes: 1_000_000, maxStalenessMs: MAX_STALENESS_MS }
  own = await DataStore.open({ shards: keepOpen(memory), cache, time })
  id = idOn(other, 0)
  await other.put({ n: 1 }, { id })
})
afterEach(async () => {
  await Promise.all([own, other].map((store) => store.close()))
  await memory.close()
})

/** Lets the cache look for changes once. */
async function look(): Promise<void> {
  for (const end of wake.splice(0)) end()
  for (let i = 0; i < 200 && wake.length === 0; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Moves the entity to shard 1 as another process, while no process reads. Its copy gets this time of writing. */
async function move(updated: number): Promise<void> {
  await changeCatalogContents(memory, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: 1, moves: [] },
  }))
  const motion = { move: 1, attempt: 1, buckets: '0-2047' }
  const [source, target] = memory.shards
  await changeServes(source!, (await source!.catalog.load())!, {
    owns: '',
    away: [{ ...motion, to: 1, end: 1 }],
  })
  const rows = (await source!.entities.read([parseId(id)])) as readonly EntityRow[]
  const { epoch } = (await target!.catalog.load())!
  await target!.entities.receive(rows, { epoch, updated })
  await changeServes(target!, (await target!.catalog.load())!, {
    owns: '0-4095',
    arrived: [{ ...motion, from: 0, afterAddedId: 0, end: 1, begin: 2 }],
  })
}

test('a cached entity whose bucket moves is read from its new owner within maxStalenessMs', async () => {
  await own.get(id)
  elapsed += MAX_STALENESS_MS + 1
  await own.get(id)
  await look()
  await own.get(id)
  await look()
  expect(own.stats().cache!.followed!.shards).toBe(1)
  await move(await memory.shards[1]!.entities.raiseFloor())
  await other.context.catalog.reload()
  await other.update(id, (bag) => ({ ...bag, n: 2 }))
  for (let passed = 0; passed <= MAX_STALENESS_MS; passed += 250) {
    elapsed += 250
    await look()
    await own.get(id)
  }
  expect(await own.get(id)).toMatchObject({ n: 2 })
})

test('a cached entity is not vouched for by the changes of a shard that it was not read from', async () => {
  // The copying begins before the cache follows shard 1.
  const updated = await memory.shards[1]!.entities.raiseFloor()
  const there = idOn(other, 1)
  await other.put({ n: 1 }, { id: there })
  await own.get(there)
  elapsed += MAX_STALENESS_MS + 1
  await own.get(there)
  await look()
  // From here on the changes of shard 1 are followed. They do not tell of the write on shard 0.
  await own.get(id)
  await other.update(id, (bag) => ({ ...bag, n: 2 }))
  await move(updated)
  await own.context.catalog.reload()
  for (let passed = 0; passed <= MAX_STALENESS_MS; passed += 250) {
    elapsed += 250
    await look()
    await own.get(there)
  }
  expect(await own.get(id)).toMatchObject({ n: 2 })
})
