import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parseId, type Driver, type EntityId, type Shard, type Time } from '@looseleaf/core'
import { systemTime, type EntityRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ShardLanes } from '../../calls/shard-lanes.ts'
import { DataStore } from '../../data-store.ts'
import { createEntityCache, type CacheOptions } from './entity-cache.ts'

let memory: Driver
/** Number of statements that read bodies by id. */
let reads: number
/** The monotonic clock, in milliseconds. */
let elapsed: number
/** The current sleep between two looks. */
let nap: Promise<void>
let wake: () => void
let naps: number
/** Ends the current nap, and waits for the next one. There is no next one if no shard is followed any more. */
async function nextLook(): Promise<void> {
  const [before, end] = [naps, wake]
  ;({ promise: nap, resolve: wake } = Promise.withResolvers<void>())
  end()
  for (let i = 0; i < 200 && naps === before; i++) await new Promise((resolve) => setTimeout(resolve, 1))
}
beforeEach(async () => {
  ;({ promise: nap, resolve: wake } = Promise.withResolvers<void>())
  memory = await memoryShards(2).connect()
  reads = 0
  naps = 0
  elapsed = 0
})
afterEach(async () => {
  await memory.close()
})

const BIG: CacheOptions = { maxBytes: 1024 * 1024, maxStalenessMs: 1000 }
/** Milliseconds between two looks for changes with `BIG`. */
const LOOK_MS = 250

async function open(plan: FaultPlan = () => undefined, cache: CacheOptions = BIG): Promise<DataStore> {
  const counted = faultyDriver(memory, (call) => {
    if (call.operation === 'read' || call.operation === 'readBounded') reads++
    return plan(call)
  })
  const time = {
    now: () => Date.now(),
    elapsed: () => elapsed,
    async sleep(ms: number) {
      if (ms < LOOK_MS) return
      naps++
      await nap
    },
  }
  return DataStore.open({ shards: keepOpen(counted), migrate: true, cache, time })
}

/** A context for a cache without following. */
const contextOf = (time: Time): EngineContext =>
  ({
    time,
    catalog: { latest: () => ({ placement: { arrivalOfId: () => -1 } }) },
  }) as unknown as EngineContext

const shardOf = (store: DataStore, id: EntityId): Shard =>
  memory.shards[store.context.router.shardOfId(parseId(id))]!

/** Opens a store as another process, without a cache. */
const openOther = (): Promise<DataStore> => DataStore.open({ shards: keepOpen(memory) })

describe('a cached entity', () => {
  it('a cached entity is returned without a statement until it is too old', async () => {
    const store = await open()
    const { id } = await store.put({ n: 1 })
    const first = await store.get(id)
    expect(await store.get(id)).toEqual(first)
    expect(await store.getMany([id, id])).toEqual([first, first])
    expect(reads).toBe(1)
    elapsed = 1001
    await store.get(id)
    expect(reads).toBe(2)
  })

  it('a call whose signal has aborted gets no cached entity', async () => {
    const store = await open()
    const { id } = await store.put({ n: 1 })
    await store.get(id)
    const signal = AbortSignal.abort()
    await expect(store.get(id, { signal })).rejects.toMatchObject({ code: 'ABORTED' })
    await expect(store.getMany([id], { signal })).rejects.toMatchObject({ code: 'ABORTED' })
  })

  it('a cached entity misses writes of another process for at most maxStalenessMs', async () => {
    const store = await open()
    const other = await openOther()
    const { id } = await store.put({ n: 1 })
    await store.get(id)
    await other.put({ n: 2 }, { id })
    expect(await store.get(id)).toMatchObject({ n: 1 })
    elapsed = 1001
    expect(await store.get(id)).toMatchObject({ n: 2 })
  })

  it('the age of a cached entity counts from before its read', async () => {
    const store = await open(({ operation, number }) =>
      operation === 'read' && number === 1 ? { after: () => void (elapsed += 600) } : undefined,
    )
    const { id } = await store.put({ n: 1 })
    await store.get(id)
    elapsed += 401
    await store.get(id)
    expect(reads).toBe(2)
  })

  it('a change to a cached entity by its caller has no effect on other callers', async () => {
    const store = await open()
    const { id } = await store.put({ tags: ['a'], at: new Date(0) })
    const mine = (await store.get(id)) as unknown as { tags: string[]; at: Date }
    mine.tags.push('b')
    mine.at.setTime(7)
    expect(await store.get(id)).toEqual({ id, tags: ['a'], at: new Date(0) })
    expect(reads).toBe(1)
  })

  it('a full cache drops the entities used longest ago', async () => {
    const store = await open(undefined, { maxBytes: 5000, maxStalenessMs: 1000 })
    const ids = await Promise.all(Array.from({ length: 50 }, async (_, n) => (await store.put({ n })).id))
    for (const id of ids) await store.get(id)
    await store.get(ids.at(-1)!)
    expect(reads).toBe(50)
    await store.get(ids[0]!)
    expect(reads).toBe(51)
  })
})

it('a cache takes at most its maxBytes of memory, even with small bodies', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const inUse = (): number => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const maxBytes = 2 * 1024 * 1024
  const cache = createEntityCache({ maxBytes, maxStalenessMs: 600_000 }, contextOf(systemTime))
  const submit = async (id: Uint8Array) => ({ id, version: 1, updated: 1, body: randomBytes(100) })
  const lanes = cache.over({ read: { submit } } as unknown as ShardLanes, 0)
  const before = inUse()
  for (let i = 0; i < 8_000; i++) await lanes.read.submit(randomBytes(16))
  // Dropped entries may not be collected yet.
  expect(inUse() - before).toBeLessThan(2 * maxBytes)
  // Keeps the cache reachable until here.
  expect(lanes.shard).toBeUndefined()
})

describe('a fresh read', () => {
  it('a fresh read replaces the cached entity', async () => {
    const store = await open()
    const other = await openOther()
    const { id } = await store.put({ n: 1 })
    await store.get(id)
    await other.put({ n: 2 }, { id })
    expect(await store.get(id, { fresh: true })).toMatchObject({ n: 2 })
    expect(await store.get(id)).toMatchObject({ n: 2 })
    expect(reads).toBe(2)
    await other.put({ n: 3 }, { id })
    expect(await store.getMany([id], { fresh: true })).toMatchObject([{ n: 3 }])
    expect(await store.getMany([id])).toMatchObject([{ n: 3 }])
    expect(reads).toBe(3)
  })

  it('a fresh read that finds nothing drops the cached entity, and one that fails keeps it', async () => {
    let isDown = false
    const store = await open(({ operation }) =>
      isDown && operation === 'read' ? { before: () => Promise.reject(new Error('down')) } : undefined,
    )
    const other = await openOther()
    const { id } = await store.put({ n: 1 })
    await store.get(id)
    isDown = true
    await expect(store.get(id, { fresh: true })).rejects.toThrow('down')
    expect(await store.get(id)).toMatchObject({ n: 1 })
    isDown = false
    await other.delete(id)
    expect(await store.get(id, { fresh: true })).toBeUndefined()
    expect(await store.get(id)).toBeUndefined()
  })

  it('a fresh read is kept although an older read ends later', async () => {
    const answers: PromiseWithResolvers<EntityRow>[] = []
    const submit = (): Promise<EntityRow> => answers[answers.push(Promise.withResolvers()) - 1]!.promise
    const lanes = { read: { submit } } as unknown as ShardLanes
    const cache = createEntityCache(
      BIG,
      contextOf({ now: () => 0, elapsed: () => elapsed, sleep: async () => {} }),
    )
    const id = new Uint8Array(16)
    const rowOf = (version: number): EntityRow => ({ id, version, updated: 0, body: new Uint8Array([1]) })
    const early = cache.over(lanes, 0).read.submit(id)
    elapsed = 1
    const fresh = cache.past(lanes, 0).read.submit(id)
    answers[1]!.resolve(rowOf(2))
    await fresh
    answers[0]!.resolve(rowOf(1))
    expect(await early).toMatchObject({ version: 1 })
    expect(await cache.over(lanes, 0).read.submit(id)).toMatchObject({ version: 2 })
    expect(answers).toHaveLength(2)
  })
})

it('an absent entity is not cached', async () => {
  const store = await open()
  const other = await openOther()
  const id = store.newId()
  expect(await store.get(id)).toBeUndefined()
  await other.put({ n: 1 }, { id })
  expect(await store.get(id)).toMatchObject({ n: 1 })
})

it('queries and writes do not use the cache', async () => {
  const store = await open()
  const other = await openOther()
  const { id } = await store.put({ n: 1 })
  await store.get(id)
  await other.put({ n: 2 }, { id })
  await store.update(id, (bag) => ({ n: (bag['n'] as number) + 1 }))
  expect(await store.get(id)).toMatchObject({ n: 3 })
})

it.each([false, true])('a read in flight when a write ends is not kept, with fresh: %j', async (fresh) => {
  const read = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  let early: Promise<unknown> | undefined
  const store = await open(({ operation, number }) => {
    if (operation === 'replace') {
      return {
        before() {
          early = store.get(id, { fresh })
          return read.promise
        },
      }
    }
    if (operation !== 'read' || number !== 2) return undefined
    return {
      after() {
        read.resolve()
        return written.promise
      },
    }
  })
  const { id } = await store.put({ n: 1 })
  await store.put({ n: 2 }, { id })
  written.resolve()
  expect(await early).toMatchObject({ n: 1 })
  expect(await store.get(id)).toMatchObject({ n: 2 })
})

it('no call that begins after a write of the store sees an older state, under any concurrency', async () => {
  const step = fc.record({ write: fc.boolean(), fresh: fc.boolean(), of: fc.nat(2), turns: fc.nat(6) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 30 }),
      fc.infiniteStream(fc.nat(4)),
      async (steps, turns) => {
        const pause = async (count: number): Promise<void> => {
          for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve))
        }
        const delay = (): Promise<void> => pause(turns.next().value as number)
        const store = await open(() => ({ before: delay, after: delay }))
        const ids = await Promise.all([0, 1, 2].map(async () => (await store.put({ n: 0 })).id))
        const written = [0, 0, 0]
        await Promise.all(
          steps.map(async ({ write, fresh, of, turns: wait }) => {
            await pause(wait)
            const id = ids[of]!
            const least = written[of]!
            if (!write) return expect((await store.get(id, { fresh }))!['n']).toBeGreaterThanOrEqual(least)
            let n = 0
            await store.update(id, (bag) => ({ n: (n = (bag['n'] as number) + 1) }))
            written[of] = Math.max(written[of]!, n)
          }),
        )
        for (const [i, id] of ids.entries()) expect((await store.get(id))!['n']).toBe(written[i])
      },
    ),
    { numRuns: runsOf(60) },
  )
})

describe('a cache that follows changes', () => {
  /** Opens a store that follows changes, as it does once a cached entity was too old, and reads an entity since. */
  async function following(plan?: FaultPlan): Promise<{ store: DataStore; other: DataStore; id: EntityId }> {
    const store = await open(plan)
    const other = await openOther()
    const { id } = await store.put({ n: 1 })
    await store.get(id)
    elapsed += 1001
    await store.get(id)
    // The look that has begun now has to end before the read, so that it vouches for the entity.
    await nextLook()
    await store.get(id, { fresh: true })
    reads = 0
    return { store, other, id }
  }

  it('an unchanged cached entity is returned for thirty times maxStalenessMs while changes are followed', async () => {
    const { store, id } = await following()
    for (let i = 0; i < 29; i++) {
      elapsed += 1000
      await nextLook()
      expect(await store.get(id)).toMatchObject({ n: 1 })
    }
    expect(reads).toBe(0)
    expect(store.stats().cache!.followed).toMatchObject({ shards: 1, ageMs: 0, hits: 28 })
    elapsed += 1001
    await nextLook()
    await store.get(id)
    expect(reads).toBe(1)
    await store.close()
  })

  it('a followed change drops an older cached entity, and keeps a newer one', async () => {
    const { store, other, id } = await following()
    await other.put({ n: 2 }, { id })
    await nextLook()
    expect(await store.get(id)).toMatchObject({ n: 2 })
    elapsed += 1001
    await nextLook()
    expect(await store.get(id)).toMatchObject({ n: 2 })
    expect(reads).toBe(1)
    await other.delete(id)
    await nextLook()
    expect(await store.get(id)).toBeUndefined()
    await store.close()
  })

  it('many followed changes raise the floor, and none is missed', async () => {
    const { store, other, id } = await following()
    const raise = vi.spyOn(shardOf(store, id).entities, 'raiseFloor')
    const near = (): EntityId => other.newId({ near: id })
    // A floor younger than the time between two looks is not raised.
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS + 10))
    for (let n = 2; n < 7; n++) {
      await Promise.all(Array.from({ length: 60 }, async () => other.put({ n }, { id: near() })))
      await other.put({ n }, { id })
      await nextLook()
      elapsed += 100
      expect(await store.get(id)).toMatchObject({ n })
    }
    expect(raise).toHaveBeenCalled()
    await store.close()
  })

  it.each(['pageOfChanges', 'floor'] as const)(
    'no cached entity is returned after maxStalenessMs while %s fails, and missed changes arrive later',
    async (operation) => {
      let isDown = false
      const { store, other, id } = await following((call) =>
        isDown && call.operation === operation
          ? { before: () => Promise.reject(new Error('down')) }
          : undefined,
      )
      isDown = true
      await other.put({ n: 2 }, { id })
      await nextLook()
      expect(await store.get(id)).toMatchObject({ n: 1 })
      elapsed += 1001
      await nextLook()
      expect(await store.get(id)).toMatchObject({ n: 2 })
      isDown = false
      await other.put({ n: 3 }, { id })
      await nextLook()
      expect(await store.get(id)).toMatchObject({ n: 3 })
      await store.close()
    },
  )

  it.each([
    ['the floor has gone back', 'floor', { floor: 1, now: 2, purged: { updated: 0, version: 0 } }],
    [
      'tombstones were purged that it has not seen',
      'floor',
      { floor: Number.MAX_SAFE_INTEGER, now: 2, purged: { updated: Number.MAX_SAFE_INTEGER, version: 1 } },
    ],
    [
      'there are more changes than one look reads',
      'pageOfChanges',
      Array.from({ length: 5_000 }, () => ({
        id: new Uint8Array(16),
        version: 1,
        updated: 1,
        addedId: 1,
        body: null,
      })),
    ],
  ] as const)(
    'no earlier cached entity is returned after maxStalenessMs if %s',
    async (_, operation, answer) => {
      const { store, id } = await following()
      const { entities } = shardOf(store, id)
      vi.spyOn(entities, operation as 'floor').mockResolvedValueOnce(answer as never)
      await nextLook()
      elapsed += 1001
      await nextLook()
      await store.get(id)
      expect(reads).toBe(1)
      await store.close()
    },
  )

  it('a read in flight when its entity changes is not kept', async () => {
    const read = Promise.withResolvers<void>()
    let isHeld = false
    const { store, other, id } = await following(({ operation }) =>
      isHeld && operation === 'read' ? { after: () => read.promise } : undefined,
    )
    isHeld = true
    const early = store.get(id, { fresh: true })
    await new Promise((resolve) => setTimeout(resolve, 5))
    isHeld = false
    await other.put({ n: 2 }, { id })
    await nextLook()
    read.resolve()
    expect(await early).toMatchObject({ n: 1 })
    expect(await store.get(id)).toMatchObject({ n: 2 })
    await store.close()
  })

  it('following a shard ends when no call needs it', async () => {
    const { store } = await following()
    elapsed += 4001
    await nextLook()
    const { looks } = store.stats().cache!.followed!
    await nextLook()
    expect(store.stats().cache!.followed).toMatchObject({ shards: 0, ageMs: undefined, looks })
    await store.close()
  })
})

it.each([
  [[], /^The cache of DataStore.open takes options as an object; got an array/],
  [true, /^The cache of DataStore.open takes options as an object; got a boolean/],
  [{ maxBytes: 1000 }, /takes maxStalenessMs, a number of milliseconds, 0 or more; got nothing/],
  [{ maxBytes: 0, maxStalenessMs: 1 }, /maxBytes.*got 0/],
  [{ maxBytes: 10, maxStalenessMs: '5' }, /maxStalenessMs.*got a string/],
  [{ maxBytes: 10, maxStalenessMs: 5, maxAge: 3 }, /no option "maxAge"/],
])('open rejects %j as a cache', async (cache, message) => {
  await expect(
    DataStore.open({ shards: memoryShards(1), cache: cache as unknown as CacheOptions }),
  ).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(message) })
})
