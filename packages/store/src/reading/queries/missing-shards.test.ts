import { LooseleafError, type ErrorCode } from '@looseleaf/core'
import type { QueryPage } from '@looseleaf/index-engine'
import { tableName } from '@looseleaf/index-engine/internal'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  byRank,
  byTag,
  byUser,
  listed,
  nameOf,
  numbers,
  openLossyStore,
  shardOf,
  shardOfUser,
  skip,
  throws,
  users,
  type LossyStore,
} from '../../../test/lossy-store.ts'
import type { DataStore } from '../../data-store.ts'

let lossy: LossyStore
let store: DataStore
let lose: LossyStore['lose']
let restore: () => void
let fill: LossyStore['fill']

beforeEach(async () => {
  lossy = await openLossyStore()
  ;({ store, lose, restore, fill } = lossy)
})
afterEach(() => lossy[Symbol.asyncDispose]())

test('a scattered page leaves out a shard that does not answer, and names it', async () => {
  const made = await fill()
  lose(1)
  await expect(store.query(byRank, {}, { scatter: true })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
  })
  const page = await store.query(byRank, {}, { scatter: true, ...skip })
  expect(numbers(page.items)).toEqual(made.filter(({ id }) => shardOf(id) !== 1).map(({ n }) => n))
  expect(page.cost).toMatchObject({ complete: false, missingShards: [nameOf(1)] })
})

test('a page leaves out entities on a missing shard although it has their index rows', async () => {
  const made = await fill()
  lose(2)
  const page = await store.query(byUser, { user: users[0]! }, skip)
  expect(numbers(page.items)).toEqual(
    made.filter(({ id, user }) => user === users[0] && shardOf(id) !== 2).map(({ n }) => n),
  )
  expect(page.cost).toMatchObject({ complete: false, missingShards: [nameOf(2)], rowsDiscarded: 1 })
})

test('a page whose only shard is missing is empty and incomplete, without cursors', async () => {
  await fill()
  lose(0)
  const page = await store.query(byUser, { user: users[0]! }, skip)
  expect(page).toMatchObject({ items: [], cost: { complete: false, missingShards: [nameOf(0)] } })
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
  const pages: Pick<QueryPage, 'items' | 'cost'>[] = []
  let cursor: string | undefined
  do {
    const page = await store.query(byRank, {}, { scatter: true, limit: 1, cursor, ...skip })
    pages.push({ items: page.items, cost: page.cost })
    cursor = page.cursor
  } while (cursor !== undefined)
  expect(pages.flatMap(({ items }) => numbers(items))).toEqual(
    made.filter(({ id }) => shardOf(id) === 1).map(({ n }) => n),
  )
  for (const { cost } of pages) expect(new Set(cost.missingShards)).toEqual(new Set([nameOf(0), nameOf(2)]))
})

test('any walk finds every entity that needs no missing shard, once and in order, and no other', async () => {
  const made = await fill()
  const missing = fc.subarray([0, 1, 2])
  const wheres = fc.subarray([...users], { minLength: 1 })
  const limits = fc.integer({ min: 1, max: 4 })
  await fc.assert(
    fc.asyncProperty(
      missing,
      wheres,
      limits,
      fc.constantFrom('asc', 'desc'),
      async (lost, own, limit, order) => {
        const where = { user: { in: own } }
        const whole = numbers((await store.query(byUser, where, { order })).items)
        lose(...lost)
        const found: unknown[] = []
        let isWhole = true
        let cursor: string | undefined
        do {
          const page = await store.query(byUser, where, { limit, order, cursor, ...skip })
          found.push(...numbers(page.items))
          isWhole &&= page.cost.complete
          cursor = page.cursor
        } while (cursor !== undefined)
        const wanted = made.filter(({ user }) => own.includes(user))
        const needsNone = wanted.filter(
          ({ id, user }) => !lost.includes(shardOf(id)) && !lost.includes(shardOfUser(user)),
        )
        const left = new Set<unknown>(needsNone.map(({ n }) => n))
        expect(found).toEqual(whole.filter((n) => left.has(n)))
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
  expect(none).toMatchObject({ items: [], cost: { complete: false, missingShards: [nameOf(2)] } })
})

test('a verified list leaves out items whose entities are on a missing shard, and an unverified list has them', async () => {
  await fill()
  lose(2)
  const where = { user: users[0]! }
  const verified = await store.list(listed, where, skip)
  expect(numbers(verified.items)).toEqual([0, 1])
  expect(verified.cost).toMatchObject({ complete: false, missingShards: [nameOf(2)] })
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
  expect(found).toMatchObject({ unread: [made[1]!.id], complete: false, missingShards: [nameOf(1)] })
  await expect(store.getMany(ids)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', shard: nameOf(1) })
  restore()
  const whole = await store.getMany(ids, skip)
  expect(whole).toMatchObject({ unread: [], complete: true, missingShards: [] })
  expect(whole.items).toEqual(await store.getMany(ids))
})

describe('errors other than an outage', () => {
  test.each<ErrorCode>(['STATEMENT_FAILED', 'SHARD_DENIED', 'NOT_MIGRATED', 'CATALOG_DAMAGED'])(
    'a skipping read rejects with %s',
    async (code) => {
      const made = await fill()
      lossy.fail(({ shard, table }) =>
        shard === 1 && (table === 'entities' || table === tableName(byRank, 1))
          ? throws(new LooseleafError(code, 'It is broken.', { shard: nameOf(1) }))
          : undefined,
      )
      await expect(store.query(byRank, {}, { scatter: true, ...skip })).rejects.toMatchObject({ code })
      await expect(store.getMany([made[1]!.id], skip)).rejects.toMatchObject({ code })
      await expect(store.count(byRank, {}, { scatter: true, ...skip })).rejects.toMatchObject({ code })
    },
  )

  test('a skipping read rejects with an outage that no later call can succeed after, such as a damaged file', async () => {
    await fill()
    lossy.fail(({ shard }) =>
      shard === 1
        ? throws(new LooseleafError('SHARD_UNAVAILABLE', 'Damaged.', { shard: nameOf(1), retryable: false }))
        : undefined,
    )
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
    shard: nameOf(shard),
  })
  expect(events.slice(0, 2)).toEqual(expect.arrayContaining([skipped(1), skipped(2)]))
  expect(events.slice(2)).toEqual(expect.arrayContaining([skipped(1), skipped(2)]))
  expect(events).toHaveLength(4)
})

test('a skipping call and another call share a statement, and each gets its own answer', async () => {
  const made = await fill()
  const id = made[1]!.id
  lose(1)
  lossy.sent.length = 0
  const [skipping, other] = await Promise.allSettled([store.getMany([id], skip), store.getMany([id])])
  expect(skipping).toMatchObject({ status: 'fulfilled', value: { unread: [id] } })
  expect(other).toMatchObject({ status: 'rejected', reason: { code: 'SHARD_UNAVAILABLE' } })
  expect(
    lossy.sent.filter((call) => call === '1 entities read' || call === '1 entities readBounded'),
  ).toHaveLength(1)
})

test('a cached entity of a missing shard is answered from the cache', async () => {
  const made = await fill()
  await using cached = await lossy.open({ cache: { maxBytes: 1_000_000, maxStalenessMs: 10_000 } })
  const [known, unknown] = made.filter(({ id }) => shardOf(id) === 1)
  await cached.get(known!.id)
  lose(1)
  const found = await cached.getMany([known!.id, unknown!.id, made[0]!.id], skip)
  expect(found.items.map((item) => item?.['n'])).toEqual([known!.n, undefined, made[0]!.n])
  expect(found).toMatchObject({ unread: [unknown!.id], missingShards: [nameOf(1)] })
})

test('a page in a store that may defer rows does not wait for a missing shard', async () => {
  await using deferring = await openLossyStore({ onIndexFailure: 'defer' })
  await deferring.fill()
  deferring.lose(1)
  const page = await deferring.store.query(byUser, { user: users[0]! }, skip)
  expect(page).toMatchObject({ cost: { complete: false, missingShards: [nameOf(1)] } })
})
