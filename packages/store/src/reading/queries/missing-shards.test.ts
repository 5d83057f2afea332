import { LooseleafError, parseId, type Driver, type EntityId, type ErrorCode } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex, type QueryPage } from '@looseleaf/index-engine'
import { tableName } from '@looseleaf/index-engine/internal'
import { bucketRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen, type Fault, type FaultyCall } from '@looseleaf/testkit'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'

const SHARDS = 3
const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
const byRank = defineIndex('by_rank', { properties: { n: 'integer' }, shardOn: 'id' })
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]', n: 'integer' }, shardOn: 'tags' })
const listed = defineIndex('listed', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
  include: ['title'],
})
const indexes = [byUser, byRank, byTag, listed]
const router = bucketRouter({ shards: SHARDS })
const shardOfUser = (user: string): number => router.shardOfKey(Buffer.from(user))
const shardOf = (id: EntityId): number => router.shardOfId(parseId(id))
const users = Array.from({ length: SHARDS }, (_, shard) =>
  ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].find((user) => shardOfUser(user) === shard)!,
)
const skip = { onUnavailable: 'skip' } as const
const name = (shard: number): string => `memory ${shard}`

let memory: Driver
let store: DataStore
let faults: (call: FaultyCall) => Fault | undefined
/** Calls of the driver, as `shard table operation`. */
let sent: string[]

const throws = (error: unknown): Fault => ({
  before() {
    throw error
  },
})
/** Lets these shards fail as if nobody listened there. */
function lose(...shards: readonly number[]): void {
  faults = ({ shard }) =>
    shards.includes(shard)
      ? throws(new LooseleafError('SHARD_UNAVAILABLE', 'It is away.', { shard: name(shard) }))
      : undefined
}
function restore(): void {
  faults = () => undefined
}

async function open(options: Partial<Parameters<typeof DataStore.open>[0]> = {}): Promise<DataStore> {
  const driver = faultyDriver(memory, (call) => {
    sent.push(`${call.shard} ${call.table} ${call.operation}`)
    return faults(call)
  })
  return DataStore.open({ shards: keepOpen(driver), indexes, migrate: true, onWarning: () => {}, ...options })
}

beforeEach(async () => {
  restore()
  sent = []
  memory = await memoryShards(SHARDS).connect()
  store = await open()
})
afterEach(async () => {
  restore()
  await store.close()
  await memory.close()
})

/** Inserts one entity per pair of a user's shard and an entity's shard, with increasing `n`. */
async function fill(): Promise<{ id: EntityId; user: string; n: number }[]> {
  const made: { id: EntityId; user: string; n: number }[] = []
  for (const user of users) {
    for (let shard = 0; shard < SHARDS; shard++) {
      let id = store.newId()
      while (shardOf(id) !== shard) id = store.newId()
      const n = made.length
      await store.put({ user, n, title: `title ${n}`, tags: [user, users[shard]!] }, { id })
      made.push({ id, user, n })
    }
  }
  return made
}
const numbers = (items: readonly object[]): unknown[] => items.map((item) => (item as { n: unknown }).n)

test('a scattered page leaves out a shard that does not answer, and names it', async () => {
  const made = await fill()
  lose(1)
  await expect(store.query(byRank, {}, { scatter: true })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  })
  const page = await store.query(byRank, {}, { scatter: true, ...skip })
  expect(numbers(page.items)).toEqual(made.filter(({ id }) => shardOf(id) !== 1).map(({ n }) => n))
  expect(page.cost).toMatchObject({ complete: false, missingShards: [name(1)] })
})

test('a page leaves out entities on a missing shard although it has their index rows', async () => {
  const made = await fill()
  lose(2)
  const page = await store.query(byUser, { user: users[0]! }, skip)
  expect(numbers(page.items)).toEqual(
    made.filter(({ id, user }) => user === users[0] && shardOf(id) !== 2).map(({ n }) => n),
  )
  expect(page.cost).toMatchObject({ complete: false, missingShards: [name(2)], rowsDiscarded: 1 })
})

test('a page whose only shard is missing is empty and incomplete, without cursors', async () => {
  await fill()
  lose(0)
  const page = await store.query(byUser, { user: users[0]! }, skip)
  expect(page).toMatchObject({ items: [], cost: { complete: false, missingShards: [name(0)] } })
  expect(page).not.toHaveProperty('cursor')
  expect(page).not.toHaveProperty('previous')
})

test('a skipping page of a healthy store is that of another page, and its cost names no shard', async () => {
  await fill()
  for (const where of [{ user: users[0]! }, { user: users[1]!, n: { gt: 3 } }]) {
    const usual = await store.query(byUser, where, { limit: 2 })
    expect(await store.query(byUser, where, { limit: 2, ...skip })).toEqual(usual)
  }
  expect(await store.query(byRank, {}, { scatter: true, ...skip })).toEqual(
    await store.query(byRank, {}, { scatter: true }),
  )
})

test('the page before leads back to what a partial page has left out', async () => {
  const made = await fill()
  lose(1)
  const options = { scatter: true, limit: 2, ...skip } as const
  const first = await store.query(byRank, {}, options)
  expect(numbers(first.items)).toEqual([0, 2])
  restore()
  const second = await store.query(byRank, {}, { ...options, cursor: first.cursor })
  expect(numbers(second.items)).toEqual([3, 4])
  expect(second.cost.complete).toBe(true)
  const back = await store.query(byRank, {}, { ...options, limit: 9, cursor: second.previous })
  expect(numbers(back.items)).toEqual([0, 1, 2])
  expect(numbers((await store.query(byRank, {}, { scatter: true })).items)).toEqual(made.map(({ n }) => n))
})

test('an entity of an array is shown at the row that is left if its first row is on a missing shard', async () => {
  const made = await fill()
  const [low, high] = [users[0]!, users[1]!].toSorted()
  const both = made.filter(
    ({ id, user }) => [user, users[shardOf(id)]!].toSorted().join() === `${low},${high}`,
  )
  const kept = both.filter(({ id }) => shardOf(id) !== shardOfUser(low!))
  lose(shardOfUser(low!))
  const { items } = await store.query(byTag, { tags: { in: [low!, high!] } }, skip)
  for (const { n } of kept) expect(numbers(items)).toContain(n)
})

test('every page of a walk is partial while a shard is missing, and the walk ends', async () => {
  const made = await fill()
  lose(0, 2)
  const pages: QueryPage[] = []
  let cursor: string | undefined
  do {
    const page = await store.query(byRank, {}, { scatter: true, limit: 1, cursor, ...skip })
    pages.push(page)
    cursor = page.cursor
  } while (cursor !== undefined)
  expect(pages.flatMap(({ items }) => numbers(items))).toEqual(
    made.filter(({ id }) => shardOf(id) === 1).map(({ n }) => n),
  )
  for (const { cost } of pages) expect(new Set(cost.missingShards)).toEqual(new Set([name(0), name(2)]))
})

test('any walk finds every entity that needs no missing shard, once and in order, and no other', async () => {
  const made = await fill()
  const missing = fc.subarray([0, 1, 2])
  const wheres = fc.subarray(users, { minLength: 1 })
  const limits = fc.integer({ min: 1, max: 4 })
  await fc.assert(
    fc.asyncProperty(
      missing,
      wheres,
      limits,
      fc.constantFrom('asc', 'desc'),
      async (lost, own, limit, order) => {
        lose(...lost)
        const found: unknown[] = []
        let isWhole = true
        let cursor: string | undefined
        do {
          const where = { user: { in: own } }
          const page = await store.query(byUser, where, { limit, order, cursor, ...skip })
          found.push(...numbers(page.items))
          isWhole &&= page.cost.complete
          cursor = page.cursor
        } while (cursor !== undefined)
        const wanted = made.filter(({ user }) => own.includes(user))
        const needsNone = wanted.filter(
          ({ id, user }) => !lost.includes(shardOf(id)) && !lost.includes(shardOfUser(user)),
        )
        expect(found.toSorted()).toEqual(needsNone.map(({ n }) => n).toSorted())
        if (needsNone.length < wanted.length) expect(isWhole).toBe(false)
        restore()
      },
    ),
    { numRuns: 25 },
  )
})

test('an intersection leaves out missing shards', async () => {
  const made = await fill()
  lose(1)
  const page = await store.intersect(
    [
      { index: byTag, where: { tags: users[0]! } },
      { index: byTag, where: { tags: users[2]! } },
    ],
    skip,
  )
  expect(numbers(page.items)).toEqual(
    made
      .filter(({ id, user }) => {
        const tags = [user, users[shardOf(id)]!]
        return tags.includes(users[0]!) && tags.includes(users[2]!)
      })
      .map(({ n }) => n),
  )
  lose(2)
  const none = await store.intersect(
    [
      { index: byTag, where: { tags: users[0]! } },
      { index: byTag, where: { tags: users[2]! } },
    ],
    skip,
  )
  expect(none).toMatchObject({ items: [], cost: { complete: false, missingShards: [name(2)] } })
})

test('a verified list leaves out items whose entities are on a missing shard, and an unverified list has them', async () => {
  await fill()
  lose(2)
  const where = { user: users[0]! }
  const verified = await store.list(listed, where, skip)
  expect(numbers(verified.items)).toEqual([0, 1])
  expect(verified.cost).toMatchObject({ complete: false, missingShards: [name(2)] })
  const unverified = await store.list(listed, where, { verify: false, ...skip })
  expect(numbers(unverified.items)).toEqual([0, 1, 2])
  expect(unverified.cost.complete).toBe(true)
  expect((await store.queryIds(byUser, where, skip)).items).toHaveLength(3)
})

test('getMany tells ids on missing shards from ids without an entity', async () => {
  const made = await fill()
  await store.delete(made[0]!.id)
  let absent = store.newId()
  while (shardOf(absent) !== 0) absent = store.newId()
  lose(1)
  const ids = [made[0]!.id, absent, made[1]!.id, made[2]!.id, made[1]!.id]
  const found = await store.getMany(ids, skip)
  expect(found.items.map((item) => item?.['n'])).toEqual([undefined, undefined, undefined, 2, undefined])
  expect(found).toMatchObject({ unread: [made[1]!.id], complete: false, missingShards: [name(1)] })
  await expect(store.getMany(ids)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', shard: name(1) })
  restore()
  const whole = await store.getMany(ids, skip)
  expect(whole).toMatchObject({ unread: [], complete: true, missingShards: [] })
  expect(whole.items).toEqual(await store.getMany(ids))
})

test.each([undefined, true, false])('a count with exact: %s says that it is partial', async (exact) => {
  await fill()
  lose(1)
  const counted = await store.count(byRank, {}, { scatter: true, exact, ...skip })
  expect(counted).toEqual({ count: 6, complete: false, missingShards: [name(1)] })
  const many = await store.countMany(
    byUser,
    users.map((user) => ({ user })),
    { exact, ...skip },
  )
  const whole = exact === false
  const own = { count: whole ? 3 : 2, complete: whole, missingShards: whole ? [] : [name(1)] }
  expect(many).toEqual([own, { count: 0, complete: false, missingShards: [name(1)] }, own])
  restore()
  const all = await store.count(byRank, {}, { scatter: true, exact, ...skip })
  expect(all).toEqual({ count: 9, complete: true, missingShards: [] })
  expect(await store.count(byRank, {}, { scatter: true, exact })).toBe(9)
})

test('a count that needs more than one range leaves out a missing shard', async () => {
  await fill()
  lose(1)
  const where = { user: { in: users } }
  const { count, complete } = await store.count(byUser, where, { exact: false, ...skip })
  expect([count, complete]).toEqual([6, false])
})

test('each page of queryMany says which shards it lacks, and so does its count', async () => {
  await fill()
  lose(1)
  const wheres = users.map((user) => ({ user }))
  const pages = await store.queryMany(byUser, wheres, { limit: 1, count: true, ...skip })
  expect(pages.map(({ items }) => numbers(items))).toEqual([[0], [], [6]])
  expect(pages.map(({ count }) => count)).toEqual([2, 0, 2])
  for (const { cost } of pages) expect(cost).toMatchObject({ complete: false, missingShards: [name(1)] })
  restore()
  for (const { cost } of await store.queryMany(byUser, wheres, { count: true, ...skip }))
    expect(cost.complete).toBe(true)
})

describe('errors other than an outage', () => {
  test.each<ErrorCode>(['STATEMENT_FAILED', 'SHARD_DENIED', 'NOT_MIGRATED', 'CATALOG_DAMAGED'])(
    'a skipping read rejects with %s',
    async (code) => {
      const made = await fill()
      faults = ({ shard, table }) =>
        shard === 1 && (table === 'entities' || table === tableName(byRank, 1))
          ? throws(new LooseleafError(code, 'It is broken.', { shard: name(1) }))
          : undefined
      await expect(store.query(byRank, {}, { scatter: true, ...skip })).rejects.toMatchObject({ code })
      await expect(store.getMany([made[1]!.id], skip)).rejects.toMatchObject({ code })
      await expect(store.count(byRank, {}, { scatter: true, ...skip })).rejects.toMatchObject({ code })
    },
  )

  test('a skipping read rejects with an outage that no later call can succeed after, such as a damaged file', async () => {
    await fill()
    faults = ({ shard }) =>
      shard === 1
        ? throws(new LooseleafError('SHARD_UNAVAILABLE', 'Damaged.', { shard: name(1), retryable: false }))
        : undefined
    await expect(store.query(byRank, {}, { scatter: true, ...skip })).rejects.toThrow('Damaged.')
  })

  test('invalid queries, cursors and options are rejected before a shard is missed', async () => {
    lose(0, 1, 2)
    await expect(store.query(byUser, { nobody: 1 } as never, skip)).rejects.toMatchObject({
      code: 'BAD_QUERY',
    })
    await expect(store.query(byUser, { user: 'a' }, { cursor: 'no', ...skip })).rejects.toMatchObject({
      code: 'BAD_CURSOR',
    })
    const wrong = { onUnavailable: 'ignore' } as never
    await expect(store.query(byUser, { user: 'a' }, wrong)).rejects.toThrow(
      "The option onUnavailable of query has to be 'fail' or 'skip'; got a string of 6 characters.",
    )
  })

  test('calls without a place for missing shards have no onUnavailable', async () => {
    const id = store.newId()
    const calls = [
      store.get(id, skip as never),
      store.exists(id, skip as never),
      store.getAll(byUser, { user: 'a' }, skip as never),
      store.explain(byUser, { user: 'a' }, skip as never),
      store.put({}, skip as never),
      store.delete(id, skip as never),
    ]
    for (const call of calls) await expect(call).rejects.toThrow(/has no option "onUnavailable"/)
  })
})

test('traces and observers learn of each missing shard once per call', async () => {
  const made = await fill()
  lose(1, 2)
  const events = await store.trace(async (trace) => {
    await store.query(byRank, {}, { scatter: true, ...skip })
    await store.getMany(
      made.map(({ id }) => id),
      skip,
    )
    return trace.events.filter(({ kind }) => kind === 'skipped')
  })
  const skipped = (shard: number): object => ({
    kind: 'skipped',
    code: 'SHARD_UNAVAILABLE',
    shard: name(shard),
  })
  expect(events.slice(0, 2)).toEqual(expect.arrayContaining([skipped(1), skipped(2)]))
  expect(events.slice(2)).toEqual(expect.arrayContaining([skipped(1), skipped(2)]))
  expect(events).toHaveLength(4)
})

test('a skipping call and another call share a statement, and each gets its own answer', async () => {
  const made = await fill()
  const id = made[1]!.id
  lose(1)
  sent = []
  const [skipping, other] = await Promise.allSettled([store.getMany([id], skip), store.getMany([id])])
  expect(skipping).toMatchObject({ status: 'fulfilled', value: { unread: [id] } })
  expect(other).toMatchObject({ status: 'rejected', reason: { code: 'SHARD_UNAVAILABLE' } })
  expect(sent.filter((call) => call === '1 entities read' || call === '1 entities readBounded')).toHaveLength(
    1,
  )
})

test('a cached entity of a missing shard is answered from the cache', async () => {
  const made = await fill()
  await using cached = await open({ cache: { maxBytes: 1_000_000, maxStalenessMs: 100 } })
  const [known, unknown] = made.filter(({ id }) => shardOf(id) === 1)
  await cached.get(known!.id)
  lose(1)
  const found = await cached.getMany([known!.id, unknown!.id, made[0]!.id], skip)
  expect(found.items.map((item) => item?.['n'])).toEqual([known!.n, undefined, made[0]!.n])
  expect(found).toMatchObject({ unread: [unknown!.id], missingShards: [name(1)] })
})

describe('a shard that is silent', () => {
  /** Lets a shard leave every call unanswered, until the returned function is called. */
  function silence(shard: number): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    faults = (call) => (call.shard === shard ? { before: () => promise } : undefined)
    return () => {
      restore()
      resolve()
    }
  }

  test('the first skipping reads wait for it shortly, and later ones send nothing to it until it answers', async () => {
    const made = await fill()
    const answer = silence(1)
    const began = performance.now()
    const read = async (): Promise<void> => {
      const page = await store.query(byRank, {}, { scatter: true, ...skip })
      expect(page.cost.missingShards).toEqual([name(1)])
    }
    await Promise.all([read(), read(), store.getMany([made[1]!.id], skip)])
    // Far below the deadline of a statement, 10 seconds, even on a busy machine.
    expect(performance.now() - began).toBeLessThan(5_000)
    sent = []
    await read()
    expect((await store.getMany([made[1]!.id], skip)).unread).toEqual([made[1]!.id])
    expect((await store.count(byRank, {}, { scatter: true, ...skip })).complete).toBe(false)
    expect(sent.filter((call) => call.startsWith('1 ') && call !== '1 shard now')).toEqual([])
    answer()
    for (let isWhole = false; !isWhole;) {
      isWhole = (await store.query(byRank, {}, { scatter: true, ...skip })).cost.complete
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

  test('a slow statement is waited for while the shard answers others', async () => {
    const made = await fill()
    const { promise, resolve } = Promise.withResolvers<void>()
    faults = ({ shard, table }) =>
      shard === 1 && table === tableName(byRank, 1) ? { before: () => promise } : undefined
    const page = store.query(byRank, {}, { scatter: true, ...skip })
    // Signs of life are asked for twice meanwhile.
    while (sent.filter((call) => call === '1 shard now').length < 2)
      await new Promise((again) => setTimeout(again, 5))
    resolve()
    const { items, cost } = await page
    expect([numbers(items), cost.complete]).toEqual([made.map(({ n }) => n), true])
  })

  test('a call without the option still waits for the silent shard', async () => {
    const made = await fill()
    const answer = silence(1)
    await store.getMany([made[1]!.id], skip)
    const waiting = store.get(made[1]!.id)
    expect(await Promise.race([waiting, store.getMany([made[1]!.id], skip)])).toMatchObject({
      complete: false,
    })
    answer()
    expect((await waiting)?.['n']).toBe(1)
  })
})

test('a page in a store that may defer rows does not wait for a missing shard', async () => {
  await store.close()
  await memory.close()
  memory = await memoryShards(SHARDS).connect()
  store = await open({ onIndexFailure: 'defer' })
  await fill()
  lose(1)
  const page = await store.query(byUser, { user: users[0]! }, skip)
  expect(page).toMatchObject({ cost: { complete: false, missingShards: [name(1)] } })
})
