import {
  formatId,
  LooseleafError,
  parseId,
  type Bag,
  type Driver,
  type EntityId,
  type StoreEvent,
} from '@looseleaf/core'
import type { BatchRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, shardsOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { bucketOfId } from '@looseleaf/router'
import { faultyDriver, keepOpen, unknownOutcome, type Fault, type FaultyCall } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { handOverOf } from '../../../test/hand-over.ts'
import { DataStore } from '../../data-store.ts'
import type { DataStoreOptions } from '../../types.ts'
import type { BatchUpdate } from './batch-item.ts'

const byMail = defineIndex('by_mail', { properties: { mail: 'string' }, shardOn: 'mail', unique: true })

let memory: Driver
let store: DataStore
let events: StoreEvent[]
let sleeps: number[]
let now: number
/** Faults of the commits of batches, in their order. */
let faults: Fault[]
let plan: (call: FaultyCall) => Fault | undefined
/** Batches as they were sent. */
let batches: (readonly BatchRow[])[]
/** Number of batches that were sent before the end of a pause. */
let early: number
let a: EntityId
let b: EntityId

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  faults = []
  plan = () => undefined
  await open()
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

async function open(options: Partial<DataStoreOptions> = {}): Promise<void> {
  events = []
  sleeps = []
  now = Date.now()
  early = 0
  let asleep = 0
  const driver = faultyDriver(memory, (call) => {
    if (call.operation !== 'writeAll') return plan(call)
    batches.push(call.args[0] as readonly BatchRow[])
    early += asleep
    return faults.shift()
  })
  store = await DataStore.open({
    shards: keepOpen(driver),
    indexes: [byMail],
    migrate: true,
    observer: { happened: (event) => void events.push(event) },
    random: { next: () => 0.5, uuid: () => crypto.randomUUID() } as never,
    time: {
      now: () => now,
      async sleep(milliseconds) {
        sleeps.push(milliseconds)
        now += milliseconds
        asleep++
        for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
        asleep--
      },
    },
    ...options,
  })
  // On the shard whose buckets `handOverOf` moves.
  do a = store.newId()
  while (bucketOfId(parseId(a)) >= 2_048)
  b = store.newId({ near: a })
  await store.insert({ n: 1 }, { id: a })
  await store.insert({ n: 1 }, { id: b })
  events.length = 0
  sleeps.length = 0
  batches = []
}

/** Another write of the first entity comes before the commit. */
const overtake: Fault = { before: async () => void (await store.put({ n: 1 }, { id: a })) }
const deadlock: Fault = {
  before() {
    throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
  },
}
const stale: Fault = {
  before() {
    throw new LooseleafError('STALE_EPOCH', 'The catalog has another epoch (a fault on purpose).')
  },
}

/** Returns the same fault for so many calls. */
const times = (length: number, fault: Fault): Fault[] => Array.from({ length }, () => fault)

const use = (of: EntityId, mail: string): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, mail }),
})
const count = (of: EntityId): BatchUpdate => ({
  update: of,
  edit: (bag: Bag) => ({ ...bag, n: Number(bag['n']) + 1 }),
})

/** Returns mails whose claims are on the other shard than the entities. */
function farMails(many: number): readonly string[] {
  const { placement, indexes } = store.context.catalog.current()
  const mails: string[] = []
  for (let i = 0; mails.length < many; i++) {
    const key = [Buffer.from(`${i}@example.com`)]
    if (shardsOfRow(indexes[0]!, placement, key, parseId(a))[0] === 1) mails.push(`${i}@example.com`)
  }
  return mails
}

async function claimedMails(): Promise<readonly string[]> {
  const entry = store.context.catalog.current().indexes.find(({ unique }) => unique)!
  const rows = await memory.shards[1]!.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 10 })
  return rows.map(({ key }) => Buffer.from(key[0] as Uint8Array).toString())
}

test('a batch that fails deletes the claims of fresh entities only: other writes may rely on those of known ones', async () => {
  const [taken, known, fresh] = farMails(3) as [string, string, string]
  await store.insert({ mail: taken })
  const batch = store.batch([use(a, known), { insert: { mail: fresh } }, use(b, taken)])
  await expect(batch).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 2 })
  await store.settled()
  expect(await claimedMails()).toEqual([taken, known].toSorted())
})

test('a batch that fails keeps the claims of its fresh entities while an earlier attempt may be committed', async () => {
  const landing = Promise.withResolvers<void>()
  faults = [{ late: landing.promise }]
  plan = ({ operation }) =>
    operation === 'take' && batches.length === 1
      ? { before: () => Promise.reject(new LooseleafError('SHARD_DENIED', 'gone')) }
      : undefined
  const [mail] = farMails(1)
  const batch = store.batch([{ insert: { mail } }, count(b)])
  await expect(batch).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  await store.settled()
  expect(await claimedMails()).toEqual([mail])
  landing.resolve()
})

test('a batch reads none of its fresh entities', async () => {
  const reads: string[] = []
  plan = ({ table, operation }) => {
    if (table === 'entities') reads.push(operation)
    return undefined
  }
  await store.batch([{ insert: { n: 1 } }, { put: { n: 2 } }])
  expect(reads).toEqual([])
  await store.batch([count(a), { insert: { n: 1 } }])
  expect(reads).toHaveLength(1)
})

test('a batch writes a tombstone for a missing entity that it checks, so that no other write can insert it meanwhile', async () => {
  await store.batch([count(a), { check: store.newId({ near: a }), ifVersion: 0 }])
  expect(batches[0]!.map((row) => ('body' in row ? row.body : 'held'))).toEqual([
    expect.any(Uint8Array),
    null,
  ])
})

test('a deadlock is followed by a random pause from the third attempt on', async () => {
  faults = [deadlock, deadlock, deadlock, deadlock, deadlock]
  await store.batch([count(a), count(b)])
  expect([sleeps, early]).toEqual([[2, 4, 8], 0])
  expect(events.filter(({ kind }) => kind === 'attempt')).toEqual(
    Array.from({ length: 5 }, () => ({ kind: 'attempt', outcome: 'undone', shard: 'memory 0' })),
  )
})

test('a batch that has lost to other writes pauses like one after a deadlock, and an observer hears of each attempt', async () => {
  faults = [overtake, overtake, overtake]
  let looks = 0
  plan = ({ table }) => void (looks += table === 'catalog' ? 1 : 0)
  await store.batch([count(a), count(b)])
  expect(sleeps).toEqual([2])
  // Only a stale catalog is read again.
  expect(looks).toBe(0)
  expect(events.filter(({ kind }) => kind === 'attempt')).toEqual(
    Array.from({ length: 3 }, () => ({ kind: 'attempt', outcome: 'superseded', shard: 'memory 0' })),
  )
})

test('a commit without an answer that lands between the look for it and the next attempt takes place once', async () => {
  const landing = Promise.withResolvers<void>()
  faults = [{ late: landing.promise }]
  const nOf = async (id: EntityId): Promise<unknown> => (await store.get(id))?.['n']
  let looks = 0
  plan = ({ table, operation }) =>
    table === 'entities' && operation === 'readVersions' && looks++ === 0
      ? {
          async after() {
            landing.resolve()
            while ((await nOf(b)) === 1) await new Promise((resolve) => setImmediate(resolve))
          },
        }
      : undefined
  await store.batch([count(a), count(b)])
  expect([await nOf(a), await nOf(b)]).toEqual([2, 2])
})

test('a batch that was committed is found by its other entities if one is written again during the look', async () => {
  const rival = await DataStore.open({ shards: keepOpen(memory), indexes: [byMail] })
  faults = [{ after: () => Promise.reject(unknownOutcome()) }]
  let isLooking = false
  plan = ({ table, operation, args: [ids] }) => {
    if (table !== 'entities') return undefined
    if (operation === 'readVersions') isLooking = true
    if (operation !== 'read' || !isLooking || formatId((ids as readonly Uint8Array[])[0]!) !== a)
      return undefined
    isLooking = false
    plan = () => undefined
    return { before: async () => void (await rival.put({ n: 9 }, { id: a })) }
  }
  await store.batch([count(a), count(b)])
  expect(await store.getMany([a, b])).toMatchObject([{ n: 9 }, { n: 2 }])
  await rival.close()
})

test('a batch whose time is over during its pauses is DEADLINE, and no pause is longer than the rest of the time', async () => {
  await store.close()
  await open({ writeTimeoutMs: 5 })
  // The write of another entity before the last error is no reason any more.
  faults = [overtake, ...times(63, deadlock)]
  await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({
    code: 'DEADLINE',
    message:
      'The batch of 2 entities was not written in 4 attempts within writeTimeoutMs. The last attempt failed with: A deadlock (a fault on purpose).',
  })
  expect(sleeps).toEqual([2, 3])
})

test('a batch that loses 64 races is CONFLICT without a pause after the last, and names no error before it', async () => {
  faults = [deadlock, ...times(70, overtake)]
  const error = await store.batch([count(a), count(b)]).catch((each: unknown) => each as LooseleafError)
  expect(error).toMatchObject({ code: 'CONFLICT', item: 0, entity: a })
  expect((error as LooseleafError).cause).toBeUndefined()
  expect([batches.length, sleeps.length]).toEqual([64, 61])
})

test('no pause follows an attempt that lost its answer or met a changed catalog', async () => {
  const lost: Fault = { before: () => Promise.reject(unknownOutcome()) }
  faults = [lost, lost, lost, stale, stale, stale]
  await store.batch([count(a), count(b)])
  expect([batches.length, sleeps.length]).toEqual([7, 0])
})

test('attempts that met a changed epoch are no tries, and those that met the same epoch are', async () => {
  const change: Fault = { before: async () => void (await changeCatalog(memory, (indexes) => indexes)) }
  faults = times(65, change)
  await store.batch([count(a), count(b)])
  expect(batches).toHaveLength(66)
  faults = times(70, stale)
  await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(batches).toHaveLength(66 + 64)
})

test('a batch reads a fresh entity whose insert was refused, such as by the tombstone of a cleaner', async () => {
  const fence = async (): Promise<void> => {
    const id = formatId(batches[0]![0]!.id)
    await store.put({}, { id })
    await store.delete(id)
  }
  faults = [{ before: fence }]
  const [inserted] = await store.batch([{ insert: { n: 7 } }, count(a)], { near: a })
  expect(batches).toHaveLength(2)
  expect(await store.get(inserted.id)).toMatchObject({ n: 7 })
})

test('the version of a batch is above those of all entities, also of one that a faster clock has written', async () => {
  const time = { now: () => now + 3_600_000, sleep: async () => {} }
  const rival = await DataStore.open({ shards: keepOpen(memory), indexes: [byMail], time })
  const { version } = await rival.put({ n: 1 }, { id: b })
  await rival.close()
  const [counted] = await store.batch([count(a), count(b)])
  expect(counted.version).toBeGreaterThan(version)
})

test('a batch deletes no rows or claims while a failover may bring their state back', async () => {
  const [first, second] = farMails(2) as [string, string]
  await store.batch([use(a, first)])
  await store.setPolicies({ deleteDelayMs: 60_000 })
  await store.batch([use(a, second), { delete: b }])
  await store.settled()
  expect(await claimedMails()).toEqual([first, second].toSorted())
})

test('a batch of a bucket that stays sealed until the end of its time is DEADLINE without an attempt', async () => {
  await store.close()
  await open({ writeTimeoutMs: 100 })
  const move = handOverOf(memory)
  await move.begin()
  await move.seal('0-2047')
  await store.context.catalog.reload()
  await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({
    code: 'DEADLINE',
    shard: 'memory 0',
    message: expect.stringContaining(
      'in 0 attempts within writeTimeoutMs. Its bucket was being moved',
    ) as string,
  })
  expect(sleeps.reduce((sum, each) => sum + each, 0)).toBeLessThan(1_200)
})

test('a batch tells an observer of the tables whose rows are deferred', async () => {
  await store.setPolicies({ onIndexFailure: 'defer' })
  const byTag = defineIndex('by_tag', { properties: { tag: 'string' }, shardOn: 'tag' })
  await store.addIndex(byTag)
  const { placement, indexes } = store.context.catalog.current()
  const entry = indexes.find(({ name }) => name === 'by_tag')!
  let tag = 0
  while (shardsOfRow(entry, placement, [Buffer.from(`${tag}`)], parseId(a))[0] !== 1) tag++
  plan = ({ table, operation }) =>
    table === entry.table && operation === 'upsert'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')) }
      : undefined
  events.length = 0
  const tagged = (id: EntityId) => ({ put: { tag: `${tag}` }, id })
  const results = await store.batch([tagged(a), tagged(b), { insert: { n: 1 } }])
  expect(results.map(({ indexed }) => indexed)).toEqual([false, false, true])
  expect(events.filter(({ kind }) => kind === 'deferred')).toEqual([
    { kind: 'deferred', tables: [entry.table], shard: 'memory 0' },
  ])
  events.length = 0
  await store.batch([count(a), count(b)])
  expect(events.filter(({ kind }) => kind === 'deferred')).toEqual([])
})
