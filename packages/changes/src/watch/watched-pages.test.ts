import { getEventListeners } from 'node:events'
import { formatId, LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/store'
import type { FaultyCall } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Hours, type Process } from '../../test/hours.ts'
import { entry, referring } from '../../test/referring-codec.ts'
import { gone } from '../../test/search.ts'
import { watch, type WatchedPage, type WatchOptions } from './watch.ts'

/* Pages on a simulated clock. */

const SECOND = 1_000

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
type Page = WatchedPage<{ readonly user: 'string'; readonly n: 'integer' }>
type Pages = AsyncGenerator<Page, void, undefined>

let hours: Hours
let process: Process
let queries: number

beforeEach(async () => {
  hours = new Hours()
  queries = 0
  process = await hours.start({
    indexes: [byUser],
    observer: { callBegan: ({ name }) => void (name === 'query' && queries++) },
  })
})
afterEach(() => hours.end())

const watching = (user = 'ada', options: WatchOptions = {}, by = process): Pages =>
  watch(by.store, byUser, { user }, options)

const put = async (user: string, n: number, id?: EntityId, by = process): Promise<EntityId> =>
  (await by.store.put({ user, n }, id === undefined ? {} : { id })).id

/** Returns the numbers of the next page. */
async function next(pages: Pages): Promise<number[]> {
  const page = pages.next()
  // A rejection is handled below.
  page.catch(() => {})
  await hours.pass(3 * SECOND)
  const { value } = await page
  return value!.items.map(({ n }) => Number(n))
}

const denied = {
  before() {
    throw new LooseleafError('SHARD_DENIED', 'no')
  },
}
const ofFloors = ({ operation, shard }: FaultyCall): boolean => operation === 'raiseFloor' && shard === 1

test('a page that shards refuse is queried again once a second', async () => {
  hours.plan = ({ operation }) => (operation === 'scan' ? gone : undefined)
  const pages = watching()
  const first = pages.next()
  await hours.pass(10 * SECOND)
  expect(queries).toBeGreaterThan(5)
  expect(queries).toBeLessThanOrEqual(11)
  hours.plan = () => undefined
  await hours.pass(SECOND)
  expect((await first).done).toBe(false)
  await pages.return()
})

test('loops of other pages, and other loops of a page, go on when a loop is left', async () => {
  const [ada, other, bob] = [watching(), watching(), watching('bob')]
  for (const pages of [ada, other, bob]) expect(await next(pages)).toEqual([])
  await ada.return()
  await put('ada', 1)
  await put('bob', 2)
  expect(await next(other)).toEqual([1])
  expect(await next(bob)).toEqual([2])
  await other.return()
  await put('bob', 3)
  expect(await next(bob)).toEqual([2, 3])
  await bob.return()
  await put('ada', 4)
  const again = watching()
  expect(await next(again)).toEqual([1, 4])
  await again.return()
})

test('pages in other orders and of other lengths are pages of their own', async () => {
  for (const n of [1, 2, 3]) await put('ada', n)
  const many = [
    watching(),
    watching('ada', { order: 'desc' }),
    watching('ada', { limit: 2 }),
    watching('ada', { order: 'desc', limit: 2 }),
    watching('bob'),
  ]
  const found: number[][] = []
  for (const pages of many) found.push(await next(pages))
  expect(found).toEqual([[1, 2, 3], [3, 2, 1], [1, 2], [3, 2], []])
  await Promise.all(many.map((pages) => pages.return()))
})

test('a change of the page shows although it comes between changes of others', async () => {
  const pages = watching()
  await next(pages)
  const before = queries
  const users = Array.from({ length: 21 }, (_, n) => (n === 10 ? 'ada' : 'bob'))
  await Promise.all(users.map((user, n) => put(user, n)))
  expect(await next(pages)).toEqual([10])
  expect(queries - before).toBeLessThanOrEqual(2)
  await pages.return()
})

test('an item that changes during the query, and stays, is queried once more', async () => {
  const [id] = [await put('ada', 1), await put('ada', 5)]
  const other = await hours.start()
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let isAsked = false
  hours.plan = ({ table, operation, args: [ids] }) => {
    const isRead = table === 'entities' && (operation === 'read' || operation === 'readBounded')
    if (!isRead || isAsked || !(ids as readonly Uint8Array[]).some((of) => formatId(of) === id))
      return undefined
    isAsked = true
    return { after: () => held }
  }
  const pages = watching()
  const first = pages.next()
  await hours.pass(100)
  expect(isAsked).toBe(true)
  await put('ada', 2, id, other)
  await hours.pass(SECOND)
  release()
  await hours.pass(SECOND)
  await first
  const now = (await next(pages)).toSorted()
  expect(now).toEqual([2, 5])
  const before = queries
  await hours.pass(10 * SECOND)
  expect(queries).toBe(before)
  await pages.return()
})

test('a page is queried for a body that cannot be decoded, and not for a deletion beside it', async () => {
  const [bob, eve] = [await put('bob', 1), await put('eve', 1)]
  const pages = watching()
  await next(pages)
  const before = queries
  const waiting = pages.next()
  await process.store.delete(eve)
  await hours.pass(2 * SECOND)
  expect(queries).toBe(before)
  const key = parseId(bob)
  const { entities } = hours.servers.shards[process.store.context.router.shardOfId(key)]!
  const { id, version: base } = (await entities.read([key]))[0]!
  const { epoch } = await entities.floor()
  await entities.replace([{ id, base, version: base + 1, body: new Uint8Array([1, 2, 3]) }], { epoch })
  await hours.pass(2 * SECOND)
  expect(queries).toBe(before + 1)
  await put('ada', 1)
  await hours.pass(2 * SECOND)
  expect((await waiting).done).toBe(false)
  await pages.return()
})

test('a page shows an item whose codec entries are not known yet, although they could not be loaded at first', async () => {
  const writer = await hours.start({ codec: referring(true), indexes: [byUser] })
  const reader = await hours.start({ codec: referring(false), indexes: [byUser] })
  await hours.servers.shards[0]!.codecEntries.add([entry])
  await hours.servers.shards[1]!.codecEntries.add([entry])
  const pages = watching('ada', {}, reader)
  expect(await next(pages)).toEqual([])
  let loads = 0
  hours.plan = ({ table, operation }) =>
    table === 'codecEntries' && operation === 'read' && ++loads === 1 ? gone : undefined
  await put('ada', 7, undefined, writer)
  expect(await next(pages)).toEqual([7])
  expect(loads).toBeGreaterThan(1)
  await pages.return()
})

test('a shard that refuses the reader of the changes fails the pages of its time, and no later ones', async () => {
  hours.plan = (call) => (ofFloors(call) ? denied : undefined)
  await expect(next(watching())).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  hours.plan = () => undefined
  const pages = watching()
  expect(await next(pages)).toEqual([])
  await put('ada', 1)
  expect(await next(pages)).toEqual([1])
  await pages.return()
})

test('a late shard that refuses the reader of the changes in the end fails all open pages, and no later ones', async () => {
  hours.plan = (call) => (ofFloors(call) ? gone : undefined)
  const [ada, bob] = [watching(), watching('bob')]
  for (const pages of [ada, bob]) expect(await next(pages)).toEqual([])
  const waiting = ada.next().catch((error: unknown) => error)
  hours.plan = (call) => (ofFloors(call) ? denied : undefined)
  await hours.pass(3 * SECOND)
  expect(await waiting).toMatchObject({ code: 'SHARD_DENIED' })
  // This loop was busy.
  await expect(next(bob)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  hours.plan = () => undefined
  const again = watching('bob')
  expect(await next(again)).toEqual([])
  await put('bob', 1)
  expect(await next(again)).toEqual([1])
  await again.return()
})

test('a loop leaves no listeners at its signal', async () => {
  const { signal } = new AbortController()
  const pages = watching('ada', { signal })
  const counts: number[] = []
  for (let n = 0; n < 4; n++) {
    await next(pages)
    counts.push(getEventListeners(signal, 'abort').length)
    await put('ada', n)
  }
  expect(new Set(counts).size).toBe(1)
  await pages.return()
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a where that cannot be copied is a bad query', async () => {
  await expect(watching((() => {}) as never).next()).rejects.toMatchObject({ code: 'BAD_QUERY' })
})
