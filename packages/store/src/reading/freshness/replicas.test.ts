import {
  createReferenceDriver,
  createReferenceReplica,
  type ReferenceDriver,
  type ReferenceReplica,
  type ShardState,
} from '@looseleaf-tooling/kit/reference-driver'
import { isLong } from '@looseleaf-tooling/vitest/long'
import { LooseleafError, parseId, type Driver, type Shard, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeServes } from '@looseleaf/index-engine/internal'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { upsertsRows } from '@looseleaf-tooling/kit/row-writes'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { readReplicas } from '../inspection/replica-report.ts'
import { createSessionTokens } from './session-tokens.ts'

const byAuthor = defineIndex('by_author', {
  properties: { author: 'string', posted: 'integer' },
  shardOn: 'author',
})
const byPosted = defineIndex('by_posted', { properties: { posted: 'integer' }, shardOn: 'id' })
const START = 1_700_000_000_000
const SHARDS = 2
const replica = { from: 'replica' } as const

/** The clock of all processes, in milliseconds. */
let clock: number
/** Milliseconds by which the clocks of the servers differ from it. */
let skew: number
let sleepers: { readonly due: number; readonly wake: () => void }[]
let primary: ReferenceDriver
/** Two replicas of each shard. */
let replicas: ReferenceReplica[][]
let faults: FaultPlan
let store: DataStore
let warnings: string[]

const time: Time = {
  now: () => START + clock,
  elapsed: () => clock,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      sleepers.push({ due: clock + ms, wake: resolve })
      signal?.addEventListener('abort', () => reject(new LooseleafError('ABORTED', 'The test has ended it.')))
    }),
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 25; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Lets time pass, and ends the sleeps that are due. */
async function pass(ms: number): Promise<void> {
  const end = clock + ms
  await settle()
  for (;;) {
    const next = sleepers.toSorted((a, b) => a.due - b.due)[0]
    if (next === undefined || next.due > end) break
    sleepers = sleepers.filter((one) => one !== next)
    clock = Math.max(clock, next.due)
    next.wake()
    await settle()
  }
  clock = end
}

/** Gives a replica the current state of its shard. */
function catchUp(shard: number, place: number): void {
  replicas[shard]![place]!.show(primary.shards[shard]!.state())
}
function catchUpAll(): void {
  for (const [shard, own] of replicas.entries()) for (const place of own.keys()) catchUp(shard, place)
}

const nowMicros = (): number => (START + clock + skew) * 1000

function driverOf(count = 2): Driver {
  const shards = primary.shards.map((shard, number): Shard => ({
    ...shard,
    replicas: replicas[number]!.slice(0, count),
  }))
  return faultyDriver({ shards, close: async () => {} }, (call) => faults(call))
}

const open = (driver = driverOf()): Promise<DataStore> =>
  DataStore.open({
    shards: { shardCount: SHARDS, connect: async () => driver },
    indexes: [byAuthor, byPosted],
    migrate: true,
    time,
    onWarning: (warning) => void warnings.push(warning),
  })

/** Returns the names of the servers that have been read. */
function readServers(): string[] {
  return store
    .stats()
    .shards.flatMap(({ name, lanes, replicas: own }) => [
      ...(lanes.some(({ kind }) => ['read', 'scan', 'scan entities', 'exist'].includes(kind)) ? [name] : []),
      ...own.filter((one) => one.lanes.length > 0).map((one) => one.name),
    ])
}
const statementsOf = (name: string): number =>
  store
    .stats()
    .shards.flatMap((shard) => [shard, ...shard.replicas])
    .filter((one) => one.name === name)
    .flatMap(({ lanes }) => lanes)
    .filter(({ kind }) => ['read', 'scan', 'scan entities', 'exist'].includes(kind))
    .reduce((sum, { statements }) => sum + statements, 0)

beforeEach(async () => {
  clock = 0
  skew = 0
  sleepers = []
  warnings = []
  faults = () => undefined
  primary = createReferenceDriver({ shards: SHARDS, now: nowMicros })
  replicas = primary.shards.map((_, shard) =>
    [0, 1].map((place) => createReferenceReplica(`replica ${place} of ${shard}`, nowMicros)),
  )
  store = await open()
})
afterEach(async () => {
  const closed = store.close()
  await pass(20_000)
  await closed
})

/** Reads so many ids from replicas that every shard is followed. */
const askAll = (of = store): Promise<unknown> =>
  of.getMany(
    Array.from({ length: 60 }, () => of.newId()),
    { from: 'replica' },
  )

/** Brings every replica up to date, and lets the store know it. */
async function ready(): Promise<void> {
  await askAll()
  for (let look = 0; look < 3; look++) {
    await pass(300)
    catchUpAll()
  }
  await pass(300)
}

/** Opens a store as another process, which knows the replicas too. */
async function openReady(): Promise<DataStore> {
  const other = await open()
  await ready()
  await askAll(other)
  await pass(300)
  catchUpAll()
  await pass(300)
  return other
}

it('replicas are read in turns once their age is known, and looks end when no call reads from them', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  let floors = 0
  faults = ({ operation }) => {
    if (operation === 'floor') floors++
    return undefined
  }
  await pass(10_000)
  expect(floors).toBe(0)
  expect(await store.get(id, replica)).toMatchObject({ author: 'ann' })
  expect(readServers().some((name) => name.startsWith('replica'))).toBe(false)
  await ready()
  const before = primary.shards.map(({ name }) => statementsOf(name))
  for (let i = 0; i < 4; i++) {
    expect(await store.get(id, replica)).toMatchObject({ author: 'ann' })
    expect(await store.exists(id, replica)).toBe(true)
    expect(await store.getMany([id], replica)).toMatchObject([{ author: 'ann' }])
  }
  expect(primary.shards.map(({ name }) => statementsOf(name))).toEqual(before)
  expect(readServers().filter((name) => name.startsWith('replica'))).toHaveLength(2)
  await pass(11_000)
  floors = 0
  await pass(10_000)
  expect(floors).toBe(0)
})

it('readReplicas reports the lag of each replica, and why one cannot be read', async () => {
  const readReports = async () =>
    (await readReplicas(store.context)).map(({ name, behindMs, exclusionReason }) => [
      name,
      exclusionReason ?? behindMs,
    ])
  const raiseAll = () => Promise.all(primary.shards.map(({ entities }) => entities.raiseFloor()))
  await raiseAll()
  catchUpAll()
  const before = primary.shards[0]!.state()
  clock += 5_000
  await raiseAll()
  catchUp(1, 0)
  replicas[1]![1]!.show(before)
  faults = ({ shard, replica: place, operation }) =>
    shard === 0 && place === 1 && operation === 'floor'
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'It is gone.', { shard: 'replica 1 of 0' })
          },
        }
      : undefined
  expect(await readReports()).toEqual([
    ['replica 0 of 0', 5_000],
    ['replica 1 of 0', 'It is gone.'],
    ['replica 0 of 1', 0],
    ['replica 1 of 1', 'It is no replica of shard 1: it has shard 0 of this store.'],
  ])
  // As after a promotion of a server that lacks writes of this replica.
  catchUp(0, 0)
  primary.shards[0]!.fallBack(before, 'everything')
  expect((await readReports())[0]).toEqual(['replica 0 of 0', expect.stringMatching(/ahead of its primary/)])
  faults = ({ replica: place, operation }) =>
    place === undefined && operation === 'floor'
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'It is gone.', { shard: '0' })
          },
        }
      : undefined
  expect((await readReports())[0]).toEqual(['replica 0 of 0', undefined])
  await expect(readReplicas(store.context, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'ABORTED',
  })
})

it('a read whose maxStalenessMs no replica keeps goes to the primary', async () => {
  await ready()
  const { id } = await store.put({ author: 'ann', posted: 1 })
  expect(await store.get(id, replica)).toBeUndefined()
  expect(await store.get(id)).toBeDefined()
  expect(await store.get(id, { ...replica, maxStalenessMs: 0 })).toBeDefined()
  await pass(999)
  await pass(2)
  expect(await store.get(id, replica)).toBeDefined()
  expect(await store.get(id, { ...replica, maxStalenessMs: 60_000 })).toBeUndefined()
})

it('a read with a session token sees all earlier writes, in any process', async () => {
  const other = await openReady()
  const { id, token: after } = await store.put({ author: 'ann', posted: 1 })
  const patient = { from: 'replica', maxStalenessMs: 60_000 } as const
  for (const [one, sees] of [
    [store, 'its own'],
    [other, 'of others'],
  ] as const) {
    expect([sees, await one.get(id, patient)]).toEqual([sees, undefined])
    expect([sees, await one.get(id, { ...patient, after })]).toMatchObject([sees, { author: 'ann' }])
    expect((await one.query(byAuthor, { author: 'ann' }, { ...patient, after })).items).toHaveLength(1)
  }
  // Replicas serve the read once they have the write.
  for (let look = 0; look < 3; look++) {
    await pass(300)
    catchUpAll()
  }
  await pass(300)
  const before = primary.shards.map(({ name }) => statementsOf(name))
  expect(await store.get(id, { ...patient, after })).toBeDefined()
  expect(primary.shards.map(({ name }) => statementsOf(name))).toEqual(before)
  const closed = other.close()
  await pass(1_000)
  await closed
})

it('a forgotten token of another process counts as new, and reads with it go to primaries first', async () => {
  const other = await openReady()
  const { id, token: after } = await store.put({ author: 'ann', posted: 1 })
  const patient = { from: 'replica', maxStalenessMs: 60_000 } as const
  /** Counts the statements on the entity's primary for this read. */
  const primaryReads = async (token: string): Promise<number> => {
    const count = (): number =>
      other
        .stats()
        .shards.flatMap(({ lanes }) => lanes)
        .filter(({ kind }) => kind === 'read')
        .reduce((sum, { items }) => sum + items, 0)
    const before = count()
    expect(await other.get(id, { ...patient, after: token })).toMatchObject({ posted: 1 })
    return count() - before
  }
  const lookAgain = async (): Promise<void> => {
    for (let look = 0; look < 3; look++) {
      await askAll(other)
      await pass(300)
      catchUpAll()
    }
    await pass(300)
  }
  expect(await primaryReads(after)).toBe(1)
  await lookAgain()
  expect(await primaryReads(after)).toBe(0)
  // Fills the memory for tokens, each with another moment.
  let moment = 0
  const { storeId } = store.context.catalog.current()
  const tokens = createSessionTokens(() => moment++, store.context.random, storeId)
  const others = Array.from({ length: 10_000 }, () => tokens.make())
  await Promise.all(others.map((token) => other.get(id, { ...patient, after: token })))
  expect(await primaryReads(after)).toBe(1)
  await lookAgain()
  expect(await primaryReads(after)).toBe(0)
  const closed = other.close()
  await pass(1_000)
  await closed
})

it('a query of replicas returns cost.asOf, and finds an entity that has moved since', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  await store.put({ author: 'ann', posted: 2 }, { id })
  const page = await store.query(byAuthor, { author: 'ann' }, replica)
  expect(page.items).toMatchObject([{ id, posted: 1 }])
  const { asOf, complete } = page.cost
  expect(complete).toBe(true)
  expect(asOf!.getTime()).toBeLessThanOrEqual(START + clock)
  expect(asOf!.getTime()).toBeGreaterThanOrEqual(START + clock - 1_000)
  // The replica of the entity's shard has the new body, and the replica of its row's shard lacks the new row.
  for (const place of [0, 1])
    catchUp(
      primary.shards.findIndex((shard) => shard.entities.rows.length > 0),
      place,
    )
  expect((await store.query(byAuthor, { author: 'ann' }, replica)).cost.complete).toBe(true)
  expect((await store.query(byAuthor, { author: 'ann' })).cost.asOf).toBeUndefined()
  expect(await store.count(byAuthor, { author: 'ann' }, replica)).toBe(1)
  expect((await store.queryIds(byAuthor, { author: 'ann' }, replica)).items).toEqual([{ id }])
  expect(await store.getAll(byAuthor, { author: 'ann' }, replica)).toHaveLength(1)
})

it('a query of replicas that are older than kept rows is incomplete', async () => {
  await store.put({ author: 'ann', posted: 1 })
  await ready()
  await pass(6_000)
  const old = { from: 'replica', maxStalenessMs: 60_000 } as const
  const { cost } = await store.query(byAuthor, { author: 'ann' }, old)
  expect(cost.asOf).toBeDefined()
  expect(cost.complete).toBe(false)
  // `getAll` cannot say that it is incomplete, so it reads primaries.
  expect(await store.getAll(byAuthor, { author: 'ann' }, old)).toHaveLength(1)
  expect(await store.count(byAuthor, { author: 'ann' }, { ...old, exact: true })).toBe(1)
})

it('a query reads an index on replicas that have it, and on primaries until then', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1, link: 'l' })
  await ready()
  const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
  await store.addIndex(byLink)
  for (const shard of primary.shards) {
    const { epoch } = (await shard.catalog.load())!
    await shard.catalog.change(
      {
        ...(await shard.catalog.load())!,
        epoch: epoch + 1,
        indexes: (await shard.catalog.load())!.indexes.map((entry) => ({ ...entry, state: 'ready' })),
      },
      epoch,
    )
  }
  await store.put({ author: 'ann', posted: 1, link: 'new' }, { id })
  const page = await store.query(byLink, { link: 'new' }, replica)
  expect(page.items).toHaveLength(1)
  expect(page.cost.asOf).toBeUndefined()
  for (let look = 0; look < 3; look++) {
    await pass(300)
    catchUpAll()
  }
  await pass(300)
  expect((await store.query(byLink, { link: 'new' }, replica)).cost.asOf).toBeDefined()
})

it('a replica that fails is left out until it answers, and its reads are repeated on the primary', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  faults = ({ shard, replica: place }) =>
    place !== undefined
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'gone', { shard: `replica ${place} of ${shard}` })
          },
        }
      : undefined
  for (let i = 0; i < 3; i++) expect(await store.get(id, replica)).toBeDefined()
  const reasons = store
    .stats()
    .shards.flatMap((shard) => shard.replicas.map(({ exclusionReason }) => exclusionReason))
  expect(reasons.filter((reason) => reason === 'gone')).toHaveLength(2)
  await pass(300)
  expect(
    store.stats().shards.flatMap((shard) => shard.replicas.map(({ exclusionReason }) => exclusionReason)),
  ).toEqual(Array.from({ length: 4 }, () => 'gone'))
  faults = () => undefined
  await ready()
  const before = statementsOf(primary.shards[0]!.name) + statementsOf(primary.shards[1]!.name)
  await store.get(id, replica)
  expect(statementsOf(primary.shards[0]!.name) + statementsOf(primary.shards[1]!.name)).toBe(before)
})

it('a skipping read whose replica fails reads the primary, and leaves the shard out if that fails too', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  const number = store.context.catalog.current().placement.shardOfId(parseId(id))
  const away = (shard: string): object => ({
    before() {
      throw new LooseleafError('SHARD_UNAVAILABLE', 'It is away.', { shard })
    },
  })
  const options = { from: 'replica', onUnavailable: 'skip' } as const
  await ready()
  faults = ({ shard, replica: place }) =>
    shard === number && place !== undefined ? away(`replica ${place} of ${shard}`) : undefined
  expect(await store.getMany([id], options)).toMatchObject({ items: [{ author: 'ann' }], complete: true })
  expect((await store.query(byPosted, {}, { scatter: true, ...options })).cost.complete).toBe(true)
  faults = ({ shard }) => (shard === number ? away(primary.shards[number]!.name) : undefined)
  const missingShards = [primary.shards[number]!.name]
  expect(await store.getMany([id], options)).toMatchObject({ unread: [id], complete: false, missingShards })
  const { items, cost } = await store.query(byPosted, {}, { scatter: true, ...options })
  expect(items).toEqual([])
  expect(cost).toMatchObject({ complete: false, missingShards })
})

it('a replica that hangs does not delay the others', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  const never = new Promise<never>(() => {})
  for (const own of replicas)
    own[0] = Object.assign(own[0]!, { entities: { ...own[0]!.entities, floor: () => never } })
  await store.close()
  store = await open()
  await ready()
  for (let i = 0; i < 4; i++) await store.get(id, replica)
  expect(readServers().filter((name) => name.startsWith('replica 0'))).toEqual([])
  expect(readServers().filter((name) => name.startsWith('replica 1'))).toHaveLength(1)
  expect(store.stats().shards[0]!.replicas[0]!.exclusionReason).toBe('It does not answer in time.')
})

it('an answer over a connection opened after the last look is not used', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await store.close()
  let opened = 1
  for (const own of replicas.flat())
    own.connections = () => ({ open: 1, opened, idle: 1, limit: 1, waiting: 0, refusal: undefined })
  store = await open()
  await ready()
  const empty = createReferenceDriver({ shards: SHARDS, now: nowMicros }).shards.map((shard) => shard.state())
  // The replica has come back empty, before the call or during it.
  for (const during of [false, true]) {
    const lose = (): void => {
      opened++
      for (const [number, own] of replicas.entries()) for (const one of own) one.show(empty[number]!)
    }
    faults = ({ replica: place, operation }) => {
      if (during && place !== undefined && operation === 'read') lose()
      return undefined
    }
    if (!during) lose()
    expect(await store.get(id, replica)).toMatchObject({ author: 'ann' })
    faults = () => undefined
    catchUpAll()
    await ready()
  }
})

it('a replica that is ahead of its primary is left out until the floor has passed it', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  const states = primary.shards.map((shard) => shard.state())
  await store.put({ author: 'ann', posted: 2 }, { id })
  // A failover has lost these floors, and the clock of the new primary is an hour behind.
  await pass(300)
  catchUpAll()
  for (const [number, shard] of primary.shards.entries()) shard.fallBack(states[number]!, 'everything')
  const hour = 3_600_000
  skew = -hour
  await pass(600)
  const reasons = (): (string | undefined)[] =>
    store.stats().shards.flatMap((shard) => shard.replicas.map(({ exclusionReason }) => exclusionReason))
  expect(reasons().every((reason) => reason?.startsWith('It is ahead of its primary'))).toBe(true)
  expect(await store.get(id, { from: 'replica', maxStalenessMs: 2 * hour })).toMatchObject({ posted: 1 })
  await pass(hour)
  await ready()
  expect(reasons()).toEqual([undefined, undefined, undefined, undefined])
})

it('a server of another store or shard is never read', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  const [first, second] = replicas as [ReferenceReplica[], ReferenceReplica[]]
  await store.close()
  const states = primary.shards.map((shard) => shard.state()) as [ShardState, ShardState]
  store = await open()
  await askAll()
  for (const one of first) one.show(states[1])
  for (const one of second) one.show({ ...states[1], catalog: { ...states[1].catalog!, storeId: 'another' } })
  await pass(300)
  await pass(300)
  await store.get(id, replica)
  const reasons = store
    .stats()
    .shards.map((shard) => shard.replicas.map(({ exclusionReason }) => exclusionReason))
  expect(new Set(reasons[0])).toEqual(new Set(['It is no replica of shard 0: it has shard 1 of this store.']))
  expect(new Set(reasons[1])).toEqual(
    new Set(['It is no replica of shard 1: it has a shard of another store.']),
  )
})

it('a replica that has not replayed a change of the buckets of its shard is left out, also by reads by id', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  const number = store.context.router.shardOfId(parseId(id))
  const statements = (): number => replicas[number]!.reduce((sum, { name }) => sum + statementsOf(name), 0)
  await store.get(id, replica)
  const before = statements()
  expect(before).toBeGreaterThan(0)
  const own = primary.shards[number]!
  const current = (await own.catalog.load())!
  const { shards } = current.layout!
  await changeServes(own, current, { owns: shards[number]!.buckets! })
  await pass(300)
  expect(await store.get(id, replica)).toMatchObject({ posted: 1 })
  expect(statements()).toBe(before)
  catchUpAll()
  await pass(300)
  catchUpAll()
  await pass(300)
  await store.get(id, replica)
  expect(statements()).toBeGreaterThan(before)
})

it('queries of a store with pending rows read primaries', async () => {
  const set = store.setPolicies({ onIndexFailure: 'defer' })
  await pass(30_000)
  await set
  await store.put({ author: 'ann', posted: 1 })
  await ready()
  expect((await store.query(byAuthor, { author: 'ann' }, replica)).cost.asOf).toBeUndefined()
})

it('a query that reads a primary instead of a replica asks it for pending rows', async () => {
  const set = store.setPolicies({ onIndexFailure: 'defer' })
  await pass(30_000)
  await set
  await ready()
  const outage = {
    before() {
      throw new LooseleafError('SHARD_UNAVAILABLE', 'gone', { shard: 'a primary' })
    },
  }
  faults = (call) => (upsertsRows(call) ? outage : undefined)
  await store.put({ author: 'ann', posted: 1 })
  expect((await store.query(byAuthor, { author: 'ann' }, replica)).cost.complete).toBe(false)
  faults = ({ table, operation }) =>
    operation === 'floor' || (table === 'catalog' && operation === 'load') ? outage : undefined
  // By then the catalog in memory is old.
  await pass(3_000)
  for (const from of [replica, undefined])
    for (const call of [
      () => store.query(byAuthor, { author: 'ann' }, from),
      () => store.getAll(byAuthor, { author: 'ann' }, from),
      () => store.count(byAuthor, { author: 'ann' }, from),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
})

it('a body that is damaged on a replica alone is read from the primary, even with onDamaged', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  for (const own of replicas.flat()) {
    const read = own.entities.read.bind(own.entities)
    own.entities.read = async (...args) =>
      (await read(...args)).map((row) => row && { ...row, body: Uint8Array.of(1, 2, 3) })
  }
  const skipping = { ...replica, onDamaged: 'skip' } as const
  expect(await store.get(id, replica)).toMatchObject({ author: 'ann' })
  expect(await store.getMany([id], skipping)).toMatchObject([{ author: 'ann' }])
  expect((await store.query(byAuthor, { author: 'ann' }, skipping)).items).toHaveLength(1)
  expect(await store.getAll(byAuthor, { author: 'ann' }, skipping)).toHaveLength(1)
  expect(await store.count(byAuthor, { author: 'ann' }, { ...skipping, exact: true })).toBe(1)
})

it('a replica that rejects reads is left out until the next look', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  let tries = 0
  faults = ({ shard, replica: place, operation }) =>
    place !== undefined && operation === 'read'
      ? {
          before() {
            tries++
            const name = `replica ${place} of ${shard}`
            throw new LooseleafError('STATEMENT_FAILED', 'denied', { shard: name })
          },
        }
      : undefined
  for (let i = 0; i < 10; i++) expect(await store.get(id, replica)).toBeDefined()
  expect(tries).toBe(2)
})

it('a look that began before a failure does not bring the replica back', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  const { promise, resolve } = Promise.withResolvers<void>()
  // Looks have read the replicas, and wait for the primary.
  faults = ({ replica: place, operation }) =>
    place === undefined && operation === 'floor' ? { before: () => promise } : undefined
  await pass(300)
  faults = ({ shard, replica: place, operation }) =>
    place !== undefined && operation === 'read'
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'gone', { shard: `replica ${place} of ${shard}` })
          },
        }
      : undefined
  for (let i = 0; i < 2; i++) await store.get(id, replica)
  resolve()
  await settle()
  const reasons = store
    .stats()
    .shards.flatMap((shard) => shard.replicas.map(({ exclusionReason }) => exclusionReason))
  expect(reasons.filter((reason) => reason === 'gone')).toHaveLength(2)
})

it('maxStalenessMs: 0 makes looks no more frequent, and slow looks count', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await ready()
  let floors = 0
  faults = ({ operation }) => {
    if (operation !== 'floor') return undefined
    floors++
    return { before: () => time.sleep(120) }
  }
  for (let i = 0; i < 10; i++) {
    await store.get(id, { ...replica, maxStalenessMs: 0 })
    await pass(400)
    catchUpAll()
  }
  // Two replicas and a primary on two shards are looked at less than three times a second.
  expect(floors).toBeLessThan(2 * 3 * 3 * 4)
  const before = primary.shards.map(({ name }) => statementsOf(name))
  expect(await store.get(id, { ...replica, maxStalenessMs: 2_000 })).toBeDefined()
  expect(primary.shards.map(({ name }) => statementsOf(name))).toEqual(before)
})

it('the age of a call counts only the shards that it needs', async () => {
  const { id } = await store.put({ author: 'ann', posted: 1 }, { id: store.newId() })
  await ready()
  const own = store.context.router.shardOfId(parseId(id))
  for (let look = 0; look < 30; look++) {
    await askAll()
    for (const place of [0, 1]) catchUp(own, place)
    await pass(300)
  }
  const byId = { from: 'replica', maxStalenessMs: 60_000 } as const
  const before = primary.shards.map(({ name }) => statementsOf(name))
  expect(await store.get(id, byId)).toBeDefined()
  expect(primary.shards.map(({ name }) => statementsOf(name))).toEqual(before)
  const { cost } = await store.query(byPosted, { posted: 1 }, { ...byId, scatter: true })
  // The index has its rows beside their entity, so all shards are asked.
  expect(cost.complete).toBe(false)
})

it('a read with a token bypasses the cache', async () => {
  const cached = await DataStore.open({
    shards: { shardCount: SHARDS, connect: async () => driverOf() },
    cache: { maxBytes: 1_000_000, maxStalenessMs: 60_000 },
    time,
  })
  const { id } = await store.put({ author: 'ann', posted: 1 })
  await cached.get(id)
  await store.put({ author: 'ann', posted: 2 }, { id })
  const after = store.sessionToken()
  expect(await cached.get(id)).toMatchObject({ posted: 1 })
  expect(await cached.getMany([id])).toMatchObject([{ posted: 1 }])
  expect(await cached.getMany([id], { after })).toMatchObject([{ posted: 2 }])
  expect(await cached.get(id, { after })).toMatchObject({ posted: 2 })
  const closed = cached.close()
  await pass(1_000)
  await closed
})

it("a replica's warnings are passed on once, as soon as it answers", async () => {
  let asks = 0
  for (const own of replicas.flat())
    own.warnings = async () => {
      if (asks++ < 4) throw new Error('not now')
      return ['read_only is off']
    }
  await ready()
  await ready()
  expect(warnings.toSorted()).toEqual(
    ['0 of 0', '0 of 1', '1 of 0', '1 of 1'].map((name) => `replica ${name}: read_only is off`),
  )
})

describe('bad options', () => {
  it.each([
    [{ from: 'slave' }, /from of get has to be 'primary' or 'replica'/],
    [{ from: 'replica', maxStalenessMs: -1 }, /maxStalenessMs of get/],
    [
      { from: 'replica', after: 7 },
      /after of get has to be the token of a write or what `sessionToken` has given/,
    ],
    [{ from: 'replica', after: 'x'.repeat(200) }, /after of get/],
    [{ maxStalenessMs: 5 }, /^get is given maxStalenessMs without from: 'replica'/],
    [{ from: 'replica', fresh: true }, /^get is given fresh and from: 'replica'/],
  ])('get rejects the options %j', async (options, message) => {
    await expect(store.get(store.newId(), options as never)).rejects.toThrow(message)
  })

  it('errors of replica options name the call', async () => {
    const options = { maxStalenessMs: 5 } as const
    const where = { author: 'ann' }
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      get: () => store.get(store.newId(), options),
      getMany: () => store.getMany([], options),
      exists: () => store.exists(store.newId(), options),
      query: () => store.query(byAuthor, where, options),
      queryMany: () => store.queryMany(byAuthor, [where], options),
      queryIds: () => store.queryIds(byAuthor, where, options),
      intersect: () =>
        store.intersect(
          [
            { index: byAuthor, where },
            { index: byAuthor, where },
          ],
          options,
        ),
      list: () => store.list(byAuthor, where, options),
      getAll: () => store.getAll(byAuthor, where, options),
      count: () => store.count(byAuthor, where, options),
      countMany: () => store.countMany(byAuthor, [where], options),
    }
    for (const [name, call] of Object.entries(calls)) {
      await expect(call()).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringMatching(new RegExp(`^${name} is given maxStalenessMs without from`)),
      })
    }
  })

  it('a token that is cut, changed or of another store is rejected', async () => {
    const { id, token } = await store.put({ author: 'ann', posted: 1 })
    expect(await store.get(id, { ...replica, after: token })).toBeDefined()
    const changed = token.replace(/.(?=-\w+$)/, (last) => (last === '0' ? '1' : '0'))
    for (const after of [
      token.slice(0, -2),
      token.slice(0, token.lastIndexOf('-')),
      token.slice(1),
      changed,
    ]) {
      await expect(store.get(id, { ...replica, after })).rejects.toThrow(
        /after of get has to be the token of a write or what `sessionToken` has given, whole; got a string/,
      )
    }
    const other = await DataStore.open({ shards: memoryShards(1), migrate: true })
    const after = other.sessionToken()
    const foreign = {
      code: 'BAD_OPTION',
      message: expect.stringMatching(
        /^The option after of (get|getMany|query) .* of this store, .* got one of another store\.$/,
      ),
    }
    for (const options of [{ after }, { ...replica, after }, { fresh: true, after }]) {
      await expect(store.get(id, options)).rejects.toMatchObject(foreign)
      await expect(store.getMany([id], options)).rejects.toMatchObject(foreign)
    }
    await expect(store.query(byAuthor, { author: 'ann' }, { ...replica, after })).rejects.toMatchObject(
      foreign,
    )
    // A store without replicas checks tokens as well.
    await expect(other.get(id, { ...replica, after: token })).rejects.toMatchObject(foreign)
    await other.close()
  })
})

it('no answer is older than its bound or lacks a write of its token, with any lag of replicas', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('write' as const), entity: fc.nat(3) }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.nat(800) }),
    fc.record({ do: fc.constant('replay' as const), shard: fc.nat(1), place: fc.nat(1), back: fc.nat(3) }),
    fc.record({ do: fc.constant('raise' as const), shard: fc.nat(1) }),
    fc.record({
      do: fc.constant('read' as const),
      bound: fc.constantFrom(0, 300, 1_000, 4_000),
      own: fc.boolean(),
    }),
  )
  let fromReplicas = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
      const ids = [0, 1, 2, 3].map(() => store.newId())
      const author = `author ${ids[0]}`
      const writes: { readonly entity: number; readonly n: number; readonly at: number }[] = []
      const pasts = primary.shards.map((shard) => [shard.state()])
      const shown = replicas.map((own) => own.map(() => 0))
      const remember = (): void => primary.shards.forEach((shard, i) => void pasts[i]!.push(shard.state()))
      let token = store.sessionToken()
      let atToken = 0
      let n = 0
      const least = (entity: number, until: number, count = Infinity): number =>
        writes.slice(0, count).findLast((write) => write.entity === entity && write.at < until)?.n ?? 0
      await ready()
      remember()
      for (const one of steps) {
        if (one.do === 'write') {
          const put = await store.put({ author, posted: ++n }, { id: ids[one.entity]! })
          writes.push({ entity: one.entity, n, at: clock })
          token = n % 2 === 0 ? put.token : store.sessionToken()
          atToken = writes.length
        } else if (one.do === 'pass') await pass(one.ms)
        else if (one.do === 'raise') await primary.shards[one.shard]!.entities.raiseFloor()
        else if (one.do === 'replay') {
          // A replica moves forward by some writes, and never back.
          const past = pasts[one.shard]!
          const next = Math.max(shown[one.shard]![one.place]!, past.length - 1 - one.back)
          shown[one.shard]![one.place] = next
          replicas[one.shard]![one.place]!.show(past[next]!)
        } else {
          const options = {
            from: 'replica',
            maxStalenessMs: one.bound,
            after: one.own ? token : undefined,
          } as const
          const known = (entity: number): number =>
            Math.max(least(entity, clock - one.bound), one.own ? least(entity, Infinity, atToken) : 0)
          const found = await store.getMany(ids, options)
          for (const [entity, bag] of found.entries())
            expect(Number(bag?.['posted'] ?? 0)).toBeGreaterThanOrEqual(known(entity))
          const page = await store.query(byAuthor, { author }, options)
          if (page.cost.asOf !== undefined) fromReplicas++
          const items = new Map(page.items.map(({ id, posted }) => [id, posted]))
          for (const [entity, id] of ids.entries()) {
            if (known(entity) === 0 || !page.cost.complete) continue
            expect(items.get(id) ?? 0).toBeGreaterThanOrEqual(known(entity))
          }
        }
        remember()
      }
    }),
    { numRuns: isLong ? 40 : 12 },
  )
  expect(fromReplicas).toBeGreaterThan(0)
})
