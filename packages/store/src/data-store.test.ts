import { isLooseleafError, LooseleafError, metaOf, type Bag } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { faultyDriver, keepOpen, withoutPauses } from '@looseleaf/testkit'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, describe, expect, it } from 'vitest'
import { DataStore } from './data-store.ts'
import { unchanged } from './unchanged.ts'
import type { Edit, DataStoreOptions, PutResult } from './types.ts'

const byUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})
const byTag = defineIndex('entries_by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
const byTime = defineIndex('entries_by_time', { properties: { published: 'time' }, shardOn: 'id' })

const opened: DataStore[] = []
async function openStore(options: Pick<DataStoreOptions, 'time' | 'indexes'> = {}): Promise<DataStore> {
  const store = await DataStore.open({
    shards: memoryShards(3),
    indexes: [byUser, byTag, byTime],
    migrate: true,
    ...options,
  })
  opened.push(store)
  return store
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
})

describe('put and get', () => {
  it('get returns the bag of a put with its id, version and time', async () => {
    const store = await openStore()
    const bag: Bag = {
      title: 'Loose pages',
      published: new Date('2009-02-27T10:00:00Z'),
      count: 7n,
      ratio: 0.5,
      raw: new Uint8Array([0, 255]),
      tags: ['a', 'b'],
      nested: { deep: [null, true] },
    }
    const { id, version, created } = await store.put(bag)
    expect(created).toBe(true)
    const entity = await store.get(id)
    expect(entity).toEqual({ id, ...bag })
    expect(metaOf(entity!)?.version).toBe(version)
    expect(Math.abs(metaOf(entity!)!.updated.getTime() - Date.now())).toBeLessThan(60_000)
  })

  it('put accepts an entity as it was read, and replaces the whole bag', async () => {
    const store = await openStore()
    const { id } = await store.put({ title: 'one', draft: true })
    const entity = await store.get(id)
    const { created } = await store.put({ id, title: `${String(entity?.['title'])} and two` })
    expect(created).toBe(false)
    expect(await store.get(id)).toEqual({ id, title: 'one and two' })
  })

  it('get returns undefined for an unknown id', async () => {
    const store = await openStore()
    expect(await store.get(store.newId())).toBeUndefined()
  })

  it('getMany keeps the order of ids, with repeats and gaps', async () => {
    const store = await openStore()
    const a = await store.put({ n: 1 })
    const b = await store.put({ n: 2 })
    const found = await store.getMany([b.id, store.newId(), a.id, b.id])
    expect(found.map((entity) => entity?.['n'])).toEqual([2, undefined, 1, 2])
  })

  it('calls accept ids in upper case and return them in lower case', async () => {
    const store = await openStore()
    const id = store.newId()
    await store.put({ n: 1 }, { id: id.toUpperCase() })
    expect((await store.get(id.toUpperCase()))?.id).toBe(id)
  })

  it('every write raises the version', async () => {
    const store = await openStore()
    const first = await store.put({ n: 1 })
    const second = await store.put({ n: 2 }, { id: first.id })
    expect(second.version).toBeGreaterThan(first.version)
  })
})

describe('insert', () => {
  it('insert rejects the id of an entity, and accepts the id of a deleted one', async () => {
    const store = await openStore()
    const { id } = await store.insert({ n: 1 })
    await expect(store.insert({ n: 2 }, { id })).rejects.toEqual(withCode('ALREADY_EXISTS'))
    expect(await store.get(id)).toEqual({ id, n: 1 })
    await store.delete(id)
    expect((await store.insert({ n: 3 }, { id })).created).toBe(true)
    expect(await store.get(id)).toEqual({ id, n: 3 })
  })

  it('exactly one of many concurrent inserts of an id succeeds', async () => {
    const store = await openStore()
    const id = store.newId()
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => store.insert({ n }, { id })),
    )
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
  })
})

describe('update', () => {
  it('concurrent updates of one entity lose nothing', async () => {
    const store = await openStore()
    const { id } = await store.put({ count: 0 })
    await Promise.all(
      Array.from({ length: 100 }, () =>
        store.update(id, (bag) => ({ ...bag, count: Number(bag['count']) + 1 })),
      ),
    )
    expect((await store.get(id))?.['count']).toBe(100)
  })

  it('an update whose edit returns `unchanged` writes nothing', async () => {
    const store = await openStore()
    const { id, version } = await store.put({ n: 1 })
    expect(await store.update(id, () => unchanged)).toMatchObject({ id, version, created: false })
  })

  it('an update whose edit returns nothing is BAD_OPTION, and the message says what to return', async () => {
    const store = await openStore()
    const { id, version } = await store.put({ n: 1 })
    // A program without types may change the bag in place, and return nothing.
    const forgetful = ((bag: { n: number }) => void (bag.n = 2)) as unknown as Edit
    await expect(store.update(id, forgetful)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/return the new bag, or `unchanged`.*returned nothing/),
    })
    expect(metaOf((await store.get(id))!)?.version).toBe(version)
  })

  it('an update of an absent entity is NOT_FOUND', async () => {
    const store = await openStore()
    await expect(store.update(store.newId(), (bag) => bag)).rejects.toEqual(withCode('NOT_FOUND'))
  })

  it('an update rethrows the error of its edit, and writes nothing', async () => {
    const store = await openStore()
    const { id } = await store.put({ n: 1 })
    const failed = store.update(id, () => {
      throw new RangeError('no')
    })
    await expect(failed).rejects.toThrow(RangeError)
    expect(await store.get(id)).toEqual({ id, n: 1 })
  })
})

describe('delete', () => {
  it('delete returns whether there was an entity', async () => {
    const store = await openStore()
    const { id } = await store.put({ n: 1 })
    expect(await store.delete(id)).toBe(true)
    expect(await store.delete(id)).toBe(false)
    expect(await store.get(id)).toBeUndefined()
    expect(await store.delete(store.newId())).toBe(false)
  })
})

describe('ifVersion', () => {
  it('ifVersion rejects a stale put, update and delete, and accepts a current one', async () => {
    const store = await openStore()
    const { id, version } = await store.put({ n: 1 })
    const next = await store.put({ n: 2 }, { id, ifVersion: version })
    await expect(store.put({ n: 3 }, { id, ifVersion: version })).rejects.toEqual(
      withCode('VERSION_MISMATCH'),
    )
    await expect(store.update(id, (bag) => bag, { ifVersion: version })).rejects.toEqual(
      withCode('VERSION_MISMATCH'),
    )
    await expect(store.delete(id, { ifVersion: version })).rejects.toEqual(withCode('VERSION_MISMATCH'))
    expect(await store.delete(id, { ifVersion: next.version })).toBe(true)
    await expect(store.put({ n: 4 }, { id, ifVersion: next.version })).rejects.toEqual(
      withCode('VERSION_MISMATCH'),
    )
    expect((await store.put({ n: 5 }, { id, ifVersion: 0 })).created).toBe(true)
  })
})

describe('putMany', () => {
  it('putMany with fates returns the outcome of each bag in order', async () => {
    const store = await openStore()
    const results = await store.putMany(
      [{ n: 1 }, { bad: Symbol('x') as never }, { id: 'nonsense' }, { n: 2 }],
      { fates: true },
    )
    expect(results.map((result) => result.ok)).toEqual([true, false, false, true])
    expect(results[1]).toEqual({ ok: false, error: withCode('BAD_PROPERTY') })
    expect(results[2]).toEqual({ ok: false, error: withCode('BAD_ID') })
  })
})

describe('putMany with a bag that fails', () => {
  it('putMany with a bag that fails writes the others, and rejects with the fate of each', async () => {
    const store = await openStore()
    const writing = store.putMany([{ n: 1 }, { bad: Symbol('x') as never }, { n: 2 }])
    const error: unknown = await writing.catch((thrown: unknown) => thrown)
    if (!isLooseleafError(error, 'SOME_FAILED')) throw new Error('It has to be SOME_FAILED.')
    expect(error.message).toMatch(
      /^1 of the 3 items of putMany failed\. The first of them: bad cannot be stored/,
    )
    expect(error.fates).toMatchObject([
      { ok: true },
      { ok: false, error: { code: 'BAD_PROPERTY' } },
      { ok: true },
    ])
    const ids = error.fates.flatMap((fate) => (fate.ok ? [(fate.value as PutResult).id] : []))
    expect((await store.getMany(ids)).map((entity) => entity?.['n'])).toEqual([1, 2])
  })

  it('SOME_FAILED of putMany is retryable only if every failure is and no bag would be written twice', async () => {
    let isAway = false
    const driver = faultyDriver(await memoryShards(2).connect(), ({ shard, table, operation }) =>
      isAway && shard === 1 && table === 'entities' && operation === 'insert'
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'Away.')) }
        : undefined,
    )
    const store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
    opened.push(store)
    isAway = true
    const bags = Array.from({ length: 20 }, (_, n) => ({ n }))
    const named = bags.map((bag) => ({ ...bag, id: store.newId() }))
    for (const [given, retryable] of [
      [bags, false],
      [named, true],
    ] as const) {
      const error: unknown = await store.putMany(given).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'SOME_FAILED', retryable, cause: { code: 'SHARD_UNAVAILABLE' } })
    }
    isAway = false
    expect(await store.putMany(named)).toHaveLength(20)
  })
})

describe('putMany of bags with the same id', () => {
  it('putMany writes bags with the same id in order, in whatever case the id is', async () => {
    const store = await openStore()
    const ids = Array.from({ length: 8 }, () => store.newId())
    const bags = Array.from({ length: 20 }, (_, n) =>
      ids.map((id) => ({ id: n % 2 === 0 ? id : id.toUpperCase(), n })),
    ).flat()
    const results = await store.putMany([...bags, { id: 'none' }, null as never, { id: ids[0]!, n: 99 }], {
      fates: true,
    })
    expect(results.slice(0, bags.length).map((result) => result.ok && result.value.created)).toEqual(
      bags.map(({ n }) => n === 0),
    )
    expect(results.slice(bags.length).map(({ ok }) => ok)).toEqual([false, false, true])
    const entities = await store.getMany(ids)
    expect(entities.map((entity) => entity?.['n'])).toEqual([99, 19, 19, 19, 19, 19, 19, 19])
  })
})

describe('query', () => {
  it('a query pages through a user’s entries, newest first', async () => {
    const store = await openStore()
    const user_id = store.newId()
    const other = store.newId()
    for (let n = 0; n < 25; n++) {
      await store.put({ user_id: n % 5 === 0 ? other : user_id, published: new Date(1e12 + n), n })
    }
    const seen: unknown[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const page = await store.query(
        byUser,
        { user_id },
        { order: 'desc', limit: 7, ...(cursor === undefined ? {} : { cursor }) },
      )
      seen.push(...page.items.map((item) => item['n']))
      cursor = page.cursor
      pages++
      expect(page.cost.shards).toBe(1)
    } while (cursor !== undefined)
    expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => 24 - n).filter((n) => n % 5 !== 0))
    expect(pages).toBe(3)
    expect(await byUser.getAll(store, { user_id: other })).toHaveLength(5)
    expect(await store.count(byUser, { user_id })).toBe(20)
    expect(
      await store.count(byUser, { user_id, published: { gte: new Date(1e12 + 20) } }, { exact: true }),
    ).toBe(4)
  })

  it('a query orders by descending and ascending properties over all shards, forward and backward', async () => {
    const bestFirst = defineIndex('best_first', {
      properties: {
        kind: 'string',
        score: { type: 'integer', order: 'desc', nulls: 'last' },
        rank: 'integer',
      },
      shardOn: 'id',
    })
    const store = await openStore({ indexes: [bestFirst] })
    const bags = [
      { kind: 'a', score: 3, rank: 1 },
      { kind: 'a', score: 3, rank: 2 },
      { kind: 'a', score: 2, rank: 0 },
      { kind: 'a', score: -1, rank: 5 },
      { kind: 'a', rank: 3 },
      { kind: 'a', rank: 4 },
    ]
    for (const bag of bags.toReversed()) await store.put(bag)
    const options = { scatter: true, limit: 2 }
    const read = async (order: 'asc' | 'desc') => {
      let page = await store.query(bestFirst, { kind: 'a' }, { ...options, order })
      const pages = [page]
      while (page.cursor !== undefined) {
        page = await store.query(bestFirst, { kind: 'a' }, { ...options, order, cursor: page.cursor })
        pages.push(page)
      }
      const { previous } = page
      const before = await store.query(bestFirst, { kind: 'a' }, { ...options, order, cursor: previous })
      expect(before.items).toEqual(pages.at(-2)?.items)
      return pages.flatMap(({ items }) => items.map(({ id: _, ...bag }) => bag))
    }
    expect(await read('asc')).toEqual(bags)
    expect(await read('desc')).toEqual(bags.toReversed())
    const good = await store.query(bestFirst, { kind: 'a', score: { gt: -1, lte: 3 } }, { scatter: true })
    expect(good.items.map(({ rank }) => rank)).toEqual([1, 2, 0])
  })

  it('a scatter query merges all shards in order', async () => {
    const store = await openStore()
    await store.putMany(
      Array.from({ length: 60 }, (_, n) => ({ n, published: new Date(1e12 + ((n * 37) % 60)) })),
    )
    const page = await store.query(byTime, {}, { order: 'desc', limit: 10, scatter: true })
    expect(page.items.map((item) => item.published.getTime() - 1e12)).toEqual([
      59, 58, 57, 56, 55, 54, 53, 52, 51, 50,
    ])
    expect(page.cost.shards).toBe(3)
    await expect(store.query(byTime, {})).rejects.toEqual(withCode('BAD_QUERY'))
  })

  it('queries see every change of an entity, including arrays', async () => {
    const store = await openStore({ time: withoutPauses })
    const { id } = await store.put({ tags: ['red', 'blue', 'red'] })
    const found = async (tags: string): Promise<number> => (await byTag.getAll(store, { tags })).length
    expect([await found('red'), await found('blue'), await found('green')]).toEqual([1, 1, 0])
    await store.update(id, (bag) => ({ ...bag, tags: ['green', 'blue'] }))
    expect([await found('red'), await found('blue'), await found('green')]).toEqual([0, 1, 1])
    await store.settled()
    expect(await store.count(byTag, { tags: 'red' })).toBe(0)
    await store.update(id, () => ({ tags: null }))
    expect([await found('red'), await found('blue'), await found('green')]).toEqual([0, 0, 0])
    await store.delete(id)
  })

  it('a query with a value list finds each value in turn, and its cursors lead forward and backward', async () => {
    const store = await openStore()
    const users = Array.from({ length: 6 }, () => store.newId()).toSorted()
    const listed = [users[4], users[1], users[2], users[1]] as string[]
    for (let n = 0; n < 30; n++) {
      await store.put({ user_id: users[n % 6]!, published: new Date(1e12 + n), n })
    }
    const where = { user_id: { in: listed }, published: { gte: new Date(1e12 + 6) } }
    const expected = [1, 2, 4].flatMap((user) => [6, 12, 18, 24].map((n) => n + user))
    const numbersOf = (entities: readonly object[]): unknown[] =>
      entities.map((entity) => Reflect.get(entity, 'n'))
    expect(numbersOf(await byUser.getAll(store, where))).toEqual(expected)
    expect(numbersOf(await byUser.getAll(store, where, { order: 'desc' }))).toEqual(expected.toReversed())
    expect(await store.count(byUser, where)).toBe(12)
    expect(await store.count(byUser, where, { exact: true })).toBe(12)

    const pages = [await store.query(byUser, where, { limit: 5 })]
    for (let cursor; (cursor = pages.at(-1)?.cursor) !== undefined;)
      pages.push(await store.query(byUser, where, { limit: 5, cursor }))
    expect(pages.map(({ items }) => items.length)).toEqual([5, 5, 2])
    expect(numbersOf(pages.flatMap(({ items }) => items))).toEqual(expected)
    const back = await store.query(byUser, where, { limit: 5, cursor: pages[2]?.previous })
    expect(back.items).toEqual(pages[1]?.items)
    const front = await store.query(byUser, where, { limit: 50, cursor: back.previous })
    expect(front.items).toEqual(pages[0]?.items)
    expect(front.previous).toBeUndefined()
  })

  it('counts and queries have an entity once that matches several values of a list', async () => {
    const store = await openStore()
    await store.putMany([{ tags: ['a', 'b', 'c'] }, { tags: ['c'] }, { tags: ['b', 'x'] }, { tags: ['x'] }])
    const where = { tags: { in: ['c', 'b', 'none'] } }
    expect(await store.count(byTag, where)).toBe(3)
    expect(await byTag.getAll(store, where)).toHaveLength(3)
    expect((await store.query(byTag, where, { limit: 3 })).cursor).toBeUndefined()
  })

  it('a count has an entity once whose rows are on several shards', async () => {
    const byPlace = defineIndex('by_place', { properties: { places: 'string[]' }, shardOn: 'places' })
    const store = await DataStore.open({ shards: memoryShards(2), indexes: [byPlace], migrate: true })
    await store.put({ places: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] })
    await store.put({ places: ['a'] })
    expect(await store.count(byPlace, {}, { scatter: true })).toBe(2)
    expect(await store.count(byPlace, { places: 'a' })).toBe(2)
    await store.close()
  })

  it('a count leaves out an entity that only shares a long prefix with a bound', async () => {
    const byText = defineIndex('by_text', { properties: { text: 'string' }, shardOn: 'id' })
    const store = await DataStore.open({ shards: memoryShards(2), indexes: [byText], migrate: true })
    const long = 'x'.repeat(600)
    await store.putMany([{ text: `${long}a` }, { text: `${long}b` }, { text: `${long}c` }])
    expect(await store.count(byText, { text: { gt: `${long}b` } }, { scatter: true })).toBe(1)
    expect(await store.count(byText, { text: { lte: `${long}b` } }, { scatter: true })).toBe(2)
    await store.close()
  })

  it('a query leaves out a deleted entity', async () => {
    const store = await openStore()
    const user_id = store.newId()
    const { id } = await store.put({ user_id, published: new Date() })
    await store.delete(id)
    expect(await byUser.getAll(store, { user_id })).toEqual([])
  })

  it('put rejects a value that an index cannot hold, and writes nothing', async () => {
    const store = await openStore()
    const id = store.newId()
    const refused = store.put({ user_id: 'somebody', published: new Date() }, { id })
    await expect(refused).rejects.toEqual(withCode('BAD_INDEX_VALUE'))
    await expect(refused).rejects.toThrow(/entries_by_user.*user_id/)
    expect(await store.get(id)).toBeUndefined()
  })
})

describe('an index over properties with odd names', () => {
  const names = [
    'entity_id',
    'version',
    'added_id',
    'Order',
    'order',
    'a b',
    '1st',
    'größe',
    '`"\'',
    '$x.y',
    'Entity_Id',
  ]
  it.each(names)('an index over the property %s finds and orders entities', async (name) => {
    const index = defineIndex('odd', { properties: { [name]: 'string', rank: 'integer' }, shardOn: 'id' })
    const both = defineIndex('odd_too', {
      properties: { rank: 'integer', [name]: 'string', entity_id: 'string' },
      shardOn: 'rank',
    })
    const store = await DataStore.open({ shards: memoryShards(2), indexes: [index, both], migrate: true })
    opened.push(store)
    for (const rank of [2, 1])
      await store.put({ [name]: 'x', rank, ...(name !== 'entity_id' && { entity_id: 'e' }) })
    await store.put({ [name]: 'y', rank: 3 })
    const where = { [name]: 'x' } as never
    const found = await store.getAll(index, where, { scatter: true })
    expect(found.map((entity) => entity['rank'])).toEqual([1, 2])
    expect(await store.getAll(both, { rank: 2 } as never)).toHaveLength(1)
  })
})

describe('scan', () => {
  it('scan yields every living entity once', async () => {
    const store = await openStore()
    const [first] = await store.putMany(Array.from({ length: 1200 }, (_, n) => ({ n })))
    await store.delete(first!.id)
    const seen = new Set<unknown>()
    for await (const entity of store.scan()) seen.add(entity['n'])
    expect(seen.size).toBe(1199)
    expect(seen.has(0)).toBe(false)
  })
})

describe('closing', () => {
  it('close may be called twice, and later calls reject', async () => {
    const store = await openStore()
    await store.close()
    await store.close()
    await expect(store.get(crypto.randomUUID())).rejects.toEqual(withCode('CLOSED'))
    await expect(store.put({})).rejects.toEqual(withCode('CLOSED'))
  })
})

describe('signals', () => {
  it('a call whose signal has aborted sends nothing', async () => {
    const store = await openStore()
    const signal = AbortSignal.abort()
    await expect(store.get(store.newId(), { signal })).rejects.toEqual(withCode('ABORTED'))
    await expect(store.put({ n: 1 }, { signal })).rejects.toEqual(withCode('ABORTED'))
    await expect(store.putMany([{ n: 1 }], { signal })).rejects.toEqual(withCode('ABORTED'))
    await expect(store.indexes({ signal })).rejects.toEqual(withCode('ABORTED'))
    expect((await store.status()).shards.reduce((sum, { entities = 0 }) => sum + entities, 0)).toBe(0)
  })
})
