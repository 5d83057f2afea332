import {
  formatId,
  LooseleafError,
  parseId,
  type Bag,
  type Driver,
  type EntityId,
  type StoreEvent,
} from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { shardsOfRow, tableSpec } from '@looseleaf/index-engine/internal'
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
  const driver = faultyDriver(memory, (call) => (call.operation === 'writeAll' ? faults.shift() : plan(call)))
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
        await new Promise((resolve) => setImmediate(resolve))
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
}

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

test('a deadlock is followed by a random pause from the third attempt on', async () => {
  const deadlock: Fault = {
    before() {
      throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
    },
  }
  faults = [deadlock, deadlock, deadlock, deadlock, deadlock]
  await store.batch([count(a), count(b)])
  expect(sleeps).toEqual([2, 4, 8])
  expect(events.filter(({ kind }) => kind === 'attempt')).toEqual(
    Array.from({ length: 5 }, () => ({ kind: 'attempt', outcome: 'undone', shard: 'memory 0' })),
  )
})

test('a batch that has lost to other writes pauses like one after a deadlock, and an observer hears of each attempt', async () => {
  const overtake: Fault = { before: async () => void (await store.put({ n: 1 }, { id: a })) }
  faults = [overtake, overtake, overtake]
  await store.batch([count(a), count(b)])
  expect(sleeps).toEqual([2])
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
  faults = Array.from({ length: 64 }, () => ({
    before() {
      throw new LooseleafError('SHARD_BUSY', 'A deadlock (a fault on purpose).', { undone: true })
    },
  }))
  await expect(store.batch([count(a), count(b)])).rejects.toMatchObject({
    code: 'DEADLINE',
    message:
      'The batch of 2 entities was not written in 4 attempts within writeTimeoutMs. The last attempt failed with: A deadlock (a fault on purpose).',
  })
  expect(sleeps).toEqual([2, 3])
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
})
