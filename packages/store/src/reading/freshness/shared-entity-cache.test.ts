import { metaOf, type Driver, type EntityId, type SharedCache, type Time } from '@looseleaf/core'
import type { SharedCacheAnswer } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

const STALENESS_MS = 10_000
const LEASE_MS = 2_000

let memory: Driver
let elapsed: number
/** An entry of the cache: a value or a lease. */
let kept: Map<string, { readonly value?: Uint8Array; readonly lease: string; readonly until: number }>
let leases: number
let reads: number
let stores: DataStore[]
let warnings: string[]

type Operation = 'take' | 'keep' | 'remove'
/** Runs before an operation of the cache on a key, which fails if this throws. */
type CachePlan = (operation: Operation, key: string) => void | Promise<void>

/** A shared cache in memory that behaves like memcached. */
function connectTo(plan: CachePlan): SharedCache {
  const living = (key: string) => {
    const found = kept.get(key)
    return found !== undefined && found.until > elapsed ? found : undefined
  }
  async function takeOne(key: string): Promise<SharedCacheAnswer> {
    try {
      await plan('take', key)
    } catch (failed) {
      return { failed }
    }
    const found = living(key)
    if (found?.value !== undefined) return { value: found.value }
    if (found !== undefined) return undefined
    const lease = String(++leases)
    kept.set(key, { lease, until: elapsed + LEASE_MS })
    return { lease }
  }
  return {
    async take(keys) {
      return Promise.all(keys.map(takeOne))
    },
    async keep(key, value, lease) {
      await plan('keep', key)
      const found = living(key)
      if (found === undefined || found.value !== undefined || found.lease !== lease) return
      kept.set(key, { value, lease, until: elapsed + STALENESS_MS - LEASE_MS })
    },
    async remove(key) {
      await plan('remove', key)
      kept.delete(key)
    },
    close: async () => {},
  }
}

const time: Time = {
  now: () => Date.now(),
  elapsed: () => elapsed,
  sleep: () => new Promise((resolve) => setImmediate(resolve)),
}

async function open(cachePlan: CachePlan = () => {}, plan: FaultPlan = () => undefined): Promise<DataStore> {
  const counted = faultyDriver(memory, (call) => {
    if (call.operation === 'read' || call.operation === 'readBounded') reads++
    return plan(call)
  })
  const store = await DataStore.open({
    shards: keepOpen(counted),
    migrate: true,
    cache: { maxStalenessMs: STALENESS_MS, connect: () => connectTo(cachePlan) },
    time,
    onWarning: (message) => void warnings.push(message),
  })
  stores.push(store)
  return store
}

function gone(): never {
  throw new Error('gone')
}

const settle = async (turns = 10): Promise<void> => {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  kept = new Map()
  elapsed = 0
  leases = 0
  reads = 0
  stores = []
  warnings = []
})
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await memory.close()
})

it('other stores get an entity from the shared cache without a statement until a write', async () => {
  const [one, other] = [await open(), await open()]
  const { id } = await one.put({ n: 1 })
  const first = await one.get(id)
  await settle()
  expect(await other.get(id)).toEqual(first)
  expect(await other.getMany([id, one.newId(), id])).toEqual([first, undefined, first])
  expect(reads).toBe(2)
  expect(other.stats().cache).toMatchObject({ hits: 2, misses: 1, failures: 0, entities: undefined })
  await other.put({ n: 2 }, { id })
  expect(await one.get(id)).toMatchObject({ n: 2 })
  await one.delete(id)
  expect(await other.get(id)).toBeUndefined()
})

it('a single store reads an entity for all stores that miss it', async () => {
  const all = [await open(), await open(), await open()]
  const { id } = await all[0]!.put({ n: 1 })
  await Promise.all(all.flatMap((store) => Array.from({ length: 20 }, () => store.get(id))))
  expect(reads).toBe(1)
})

it('an entity whose reader has crashed is read by others', async () => {
  const [one, other] = [await open(), await open()]
  const { id } = await one.put({ n: 1 })
  await connectTo(() => {}).take([`${one.context.catalog.current().storeId}:${id}`])
  expect(await other.get(id)).toMatchObject({ n: 1 })
  elapsed += LEASE_MS
  await other.get(id)
  await settle()
  const before = reads
  await one.get(id)
  expect(reads).toBe(before)
})

it('a read that began before the end of a write is not kept', async () => {
  let hold: Promise<void> | undefined
  const [one, other] = [
    await open(undefined, ({ operation }) =>
      operation === 'read' && hold !== undefined ? { after: () => hold } : undefined,
    ),
    await open(),
  ]
  const { id } = await other.put({ n: 1 })
  const { promise, resolve } = Promise.withResolvers<void>()
  hold = promise
  const reading = one.get(id)
  await settle()
  await other.put({ n: 2 }, { id })
  hold = undefined
  resolve()
  expect(await reading).toMatchObject({ n: 1 })
  await settle()
  expect(await other.get(id)).toMatchObject({ n: 2 })
  expect(await one.get(id)).toMatchObject({ n: 2 })
})

it('a store bypasses the shared cache for an entity whose eviction has failed, until the entry is too old', async () => {
  let isDown = false
  const one = await open((operation) => {
    if (isDown && operation === 'remove') throw new Error('gone')
  })
  const other = await open()
  const { id } = await one.put({ n: 1 })
  await one.get(id)
  await settle()
  isDown = true
  await one.put({ n: 2 }, { id })
  isDown = false
  expect(await one.get(id)).toMatchObject({ n: 2 })
  expect(await other.get(id)).toMatchObject({ n: 1 })
  elapsed += STALENESS_MS
  expect(await other.get(id)).toMatchObject({ n: 2 })
  expect(one.stats().cache).toMatchObject({ failures: 1 })
})

it('a store bypasses the shared cache for all entities after too many failed evictions', async () => {
  let [takes, removed] = [0, 0]
  const store = await open((operation) => {
    if (operation === 'remove' && ++removed <= 100_001) gone()
    if (operation === 'take') takes++
  })
  const { id } = await (await open()).put({ n: 1 })
  const evictions = async (count: number): Promise<void> => {
    for (let remaining = count; remaining > 0; remaining -= 10_000)
      await Promise.allSettled(
        Array.from({ length: Math.min(remaining, 10_000) }, () => store.evict(store.newId())),
      )
  }
  await evictions(100_000)
  await store.get(id)
  await settle()
  expect(takes).toBe(1)
  await evictions(1)
  expect(removed).toBe(100_001)
  elapsed += STALENESS_MS - 1
  expect(await store.get(id)).toMatchObject({ n: 1 })
  expect(takes).toBe(1)
  elapsed += 1
  expect(await store.get(id)).toMatchObject({ n: 1 })
  expect(takes).toBe(2)
  expect(store.stats().cache).toMatchObject({ failures: 100_001 })
})

it('reads and writes succeed without a failing cache, with one warning a minute', async () => {
  const store = await open(() => {
    throw new Error('gone')
  })
  const { id } = await store.put({ n: 1 })
  for (let n = 2; n < 6; n++) {
    await store.put({ n }, { id })
    expect(await store.get(id)).toMatchObject({ n })
  }
  expect(warnings).toEqual(['The shared cache fails, and the store reads from the database instead: gone'])
  expect(store.stats().cache).toMatchObject({ lastFailure: 'gone' })
  elapsed += 60_000
  await store.get(store.newId())
  expect(warnings).toHaveLength(2)
})

it('a write evicts its entity although the cache fails for others', async () => {
  const other = await open()
  const { id: lost } = await other.put({ n: 0 })
  const one = await open((_, key) => (key.endsWith(lost) ? gone() : undefined))
  const { id } = await one.put({ n: 1 })
  await other.get(id)
  await settle()
  await one.getMany([lost, id])
  await one.put({ n: 2 }, { id })
  expect(await other.get(id)).toMatchObject({ n: 2 })
  expect(one.stats().cache).toMatchObject({ failures: 1, hits: 1 })
})

it('a failed evict is CACHE_UNAVAILABLE, and can be retried', async () => {
  let isDown = true
  const store = await open((operation) => (isDown && operation === 'remove' ? gone() : undefined))
  const id = store.newId()
  await expect(store.evict(id)).rejects.toMatchObject({
    code: 'CACHE_UNAVAILABLE',
    message: `Entity ${id} could not be removed from the shared cache: gone`,
    entity: id,
    retryable: true,
  })
  isDown = false
  await store.evict(id)
})

it('no store waits for an absent entity, or for a body that is too long to be kept', async () => {
  const store = await open()
  const absent = store.newId()
  for (let n = 0; n < 3; n++) {
    await store.get(absent)
    await settle()
  }
  expect(store.stats().cache).toMatchObject({ misses: 3 })
  expect(leases).toBe(3)
  expect(kept.size).toBe(0)
})

it('a read with a token leaves the shared cache unchanged', async () => {
  const [one, other] = [await open(), await open()]
  const { id, token } = await one.put({ n: 1 })
  await other.get(id)
  await settle()
  const before = reads
  expect(await one.get(id, { after: token })).toMatchObject({ n: 1 })
  expect(reads).toBe(before + 1)
  await other.get(id)
  expect(reads).toBe(before + 1)
})

it('a fresh read reads the database and evicts older entries', async () => {
  const [one, other] = [await open(), await open()]
  const { id } = await one.put({ n: 1 })
  await one.get(id)
  await settle()
  const past = await DataStore.open({ shards: keepOpen(memory) })
  await past.put({ n: 2 }, { id })
  await past.close()
  expect(await other.get(id)).toMatchObject({ n: 1 })
  expect(await one.get(id, { fresh: true })).toMatchObject({ n: 2 })
  expect(await other.get(id)).toMatchObject({ n: 2 })
})

it('evict removes an entry of an entity changed without the store', async () => {
  const store = await open()
  const { id } = await store.put({ n: 1 })
  await store.get(id)
  await settle()
  const past = await DataStore.open({ shards: keepOpen(memory) })
  await past.put({ n: 2 }, { id })
  await past.close()
  await store.evict(id)
  expect(await store.get(id)).toMatchObject({ n: 2 })
})

it('a damaged entry is removed, reported and counted, and the entity is read from its shard', async () => {
  const [store, other] = [await open(), await open()]
  const { id, version } = await store.put({ n: 1, text: 'whole' })
  const { id: second } = await store.put({ n: 2 })
  await store.getMany([id, second])
  await settle()
  const keyOf = (entity: string): string => `${store.context.catalog.current().storeId}:${entity}`
  const good = kept.get(keyOf(id))!.value!
  const flipped = (place: number): Uint8Array => good.map((byte, i) => (i === place ? byte ^ 1 : byte))
  const bad = [
    Uint8Array.of(7, 7),
    new Uint8Array(100).fill(7),
    good.subarray(0, -1),
    ...Array.from({ length: good.length }, (_, place) => flipped(place)),
    kept.get(keyOf(second))!.value!,
  ]
  for (const [i, value] of bad.entries()) {
    kept.set(keyOf(id), { value, lease: '', until: Infinity })
    const before = reads
    expect(await store.getMany([id, second])).toEqual([
      { id, n: 1, text: 'whole' },
      { id: second, n: 2 },
    ])
    expect(store.stats().cache!.failures).toBe(i + 1)
    await settle()
    expect(reads).toBe(before + 1)
    const found = await other.get(id)
    expect([metaOf(found!)?.version, found!['n']]).toEqual([version, 1])
    await settle()
  }
  expect(other.stats().cache!.failures).toBe(0)
  expect(warnings).toEqual([
    `The shared cache fails, and the store reads from the database instead: the entry of entity ${id} is damaged; it is removed`,
  ])
})

it('a body that is too long for the shared cache is not kept', async () => {
  const store = await open()
  const { id } = await store.put({
    text: Array.from({ length: 1_000_000 }, () => Math.random().toString(36)[3]).join(''),
    more: Array.from({ length: 90_000 }, () => Math.random()),
  })
  await store.get(id)
  await settle()
  expect([...kept.values()].every(({ value }) => value === undefined)).toBe(true)
})

it('no call misses a write of its own store or exceeds its bound, with two stores and a failing cache', async () => {
  const step = fc.record({
    do: fc.constantFrom('put', 'put', 'get', 'get', 'get', 'getMany', 'pass'),
    store: fc.nat(1),
    entity: fc.nat(1),
    ms: fc.constantFrom(100, 1_100, 3_000, 11_000),
    waits: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 40 }),
      fc.infiniteStream(fc.nat(9)),
      async (steps, chance) => {
        kept.clear()
        const plan: CachePlan = async () => {
          const next = chance.next().value ?? 9
          await settle(next % 3)
          if (next === 0) throw new Error('lost')
        }
        const own = [await open(plan), await open(plan)] as const
        const ids: EntityId[] = [own[0].newId(), own[0].newId()]
        /** Acknowledged writes, in order. */
        const writes: {
          readonly store: number
          readonly entity: number
          readonly n: number
          readonly at: number
        }[] = []
        let n = 0
        const least = (store: number, entity: number): number =>
          Math.max(
            0,
            ...writes
              .filter(
                (one) => one.entity === entity && (one.store === store || one.at + STALENESS_MS < elapsed),
              )
              .map((one) => one.n),
          )
        const work: Promise<void>[] = []
        const busy = new Map<number, Promise<unknown>>()
        for (const one of steps) {
          const store = own[one.store]!
          if (one.do === 'pass') elapsed += one.ms
          else if (one.do === 'put') {
            // Writes of one entity run one after the other, so that their order is known.
            await busy.get(one.entity)
            const number = ++n
            const writing = (async (): Promise<void> => {
              await store.put({ n: number }, { id: ids[one.entity]! })
              writes.push({ store: one.store, entity: one.entity, n: number, at: elapsed })
            })()
            busy.set(one.entity, writing)
            work.push(writing)
          } else {
            const expected = ids.map((_, entity) => least(one.store, entity))
            const check = (entity: number, bag: unknown): void =>
              expect(Number((bag as { n?: number } | undefined)?.n ?? 0)).toBeGreaterThanOrEqual(
                expected[entity]!,
              )
            work.push(
              one.do === 'get'
                ? store.get(ids[one.entity]!).then((bag) => check(one.entity, bag))
                : store.getMany(ids).then((bags) => bags.forEach((bag, entity) => check(entity, bag))),
            )
          }
          if (one.waits) await settle(3)
        }
        await Promise.all(work)
        await Promise.all(own.map((store) => store.close()))
      },
    ),
    { numRuns: runsOf(60) },
  )
})
