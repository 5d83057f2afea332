import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { watch, type WatchedPage, type WatchOptions } from './watch.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
type Page = WatchedPage<{ readonly user: 'string'; readonly n: 'integer' }>

let memory: Driver
let store: DataStore
let plan: FaultPlan
let queries: number

beforeEach(async () => {
  plan = () => undefined
  queries = 0
  memory = await memoryShards(2).connect()
  const driver = faultyDriver(memory, (call) => plan(call))
  store = await DataStore.open({
    shards: { shardCount: 2, connect: async () => driver },
    indexes: [byUser],
    migrate: true,
    observer: { callBegan: ({ name }) => void (name === 'query' && queries++) },
  })
})

afterEach(() => store.close())

const put = async (n: number, id?: EntityId, user = 'ada'): Promise<EntityId> =>
  (await store.put({ user, n }, id === undefined ? {} : { id })).id

/** Watches the last three entities of ada. */
function watching(options: WatchOptions = {}): AsyncGenerator<Page, void, undefined> {
  return watch(store, byUser, { user: 'ada' }, { order: 'desc', limit: 3, ...options })
}

async function next(pages: AsyncGenerator<Page, void, undefined>): Promise<Page> {
  const { value } = await pages.next()
  if (value === undefined) throw new Error('There are no more pages.')
  return value
}

const numbers = (items: Page['items']): number[] => items.map(({ n }) => Number(n))
const summaryOf = ({ items, added, changed, removed }: Page): number[][] =>
  [items, added, changed, removed].map(numbers)

it('`watch` yields the current page, then the page after each change, with the added, changed and removed items', async () => {
  const id = await put(1)
  const pages = watching()
  expect(summaryOf(await next(pages))).toEqual([[1], [1], [], []])
  await put(2)
  expect(summaryOf(await next(pages))).toEqual([[2, 1], [2], [], []])
  await put(3, id)
  expect(summaryOf(await next(pages))).toEqual([[3, 2], [], [3], []])
  await Promise.all([put(4), put(5)])
  let page = await next(pages)
  // The two writes show in one page or in two.
  if (page.added.length === 1) page = await next(pages)
  expect(numbers(page.items)).toEqual([5, 4, 3])
  await store.delete(id)
  expect(summaryOf(await next(pages))).toEqual([[5, 4, 2], [2], [], [3]])
  await pages.return()
})

it("later changes to the caller's `where` object do not affect a watched page", async () => {
  const where = { user: 'ada' }
  const pages = watch(store, byUser, where)
  await next(pages)
  where.user = 'bob'
  await put(7, undefined, 'bob')
  await put(5)
  expect(numbers((await next(pages)).items)).toEqual([5])
  await pages.return()
})

it('an empty page is yielded too, and writes that the query cannot match cause no query', async () => {
  const pages = watching({ limit: 1 })
  expect(summaryOf(await next(pages))).toEqual([[], [], [], []])
  await put(5)
  expect(summaryOf(await next(pages))).toEqual([[5], [5], [], []])
  const before = queries
  await put(7, undefined, 'bob')
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(queries).toBe(before)
  // This write matches the query, but lies behind the last item.
  await put(4)
  await put(6)
  expect(summaryOf(await next(pages))).toEqual([[6], [6], [], [5]])
  await pages.return()
})

it('an item that moves into a full page, or out of it behind its last item, changes the page, and one that moves behind it does not', async () => {
  const ids = new Map<number, EntityId>()
  for (const n of [1, 2, 3, 4, 5]) ids.set(n, await put(n))
  const pages = watching()
  expect(summaryOf(await next(pages))).toEqual([[5, 4, 3], [5, 4, 3], [], []])
  // Items move from behind the page to its front, and into its middle.
  await put(6, ids.get(1))
  expect(summaryOf(await next(pages))).toEqual([[6, 5, 4], [6], [], [3]])
  await put(5, ids.get(2))
  expect((await next(pages)).added).toMatchObject([{ id: ids.get(2) }])
  // An item leaves the page, and the one behind the last item moves up.
  await put(0, ids.get(1))
  const moved = await next(pages)
  expect(numbers(moved.items)).toEqual([5, 5, 4])
  expect(moved.removed).toMatchObject([{ id: ids.get(1), n: 6 }])
  expect(moved.added).toMatchObject([{ id: ids.get(4) }])
  await store.delete(ids.get(5)!)
  expect(summaryOf(await next(pages))).toEqual([[5, 4, 3], [3], [], [5]])
  // A move behind the page does not change it.
  const waiting = next(pages)
  let isGiven = false
  void waiting.then(() => (isGiven = true))
  const before = queries
  await put(-1, ids.get(1))
  await expect.poll(() => queries, { timeout: 5_000 }).toBeGreaterThan(before)
  await new Promise((done) => setTimeout(done, 100))
  expect(isGiven).toBe(false)
  // The last item changes and stays the last one.
  await put(2, ids.get(3))
  expect(summaryOf(await waiting)).toEqual([[5, 4, 2], [], [2], []])
  await pages.return()
})

it('many loops that watch one page share its queries, and a slow loop gets the latest page', async () => {
  await put(1)
  const many = Array.from({ length: 50 }, () => watching())
  await Promise.all(many.map(next))
  expect(queries).toBe(1)
  const [slow, ...others] = many
  await put(2)
  for (const pages of others) expect(numbers((await next(pages)).items)).toEqual([2, 1])
  await put(3)
  for (const pages of others) expect(numbers((await next(pages)).added)).toEqual([3])
  expect(summaryOf(await next(slow!))).toEqual([[3, 2, 1], [3, 2], [], []])
  expect(queries).toBe(3)
  await Promise.all(many.map((pages) => pages.return()))
  const [again] = [watching()]
  expect(numbers((await next(again)).items)).toEqual([3, 2, 1])
  await again.return()
})

it('a shard that does not answer for a while only delays the next page', async () => {
  const pages = watching()
  await next(pages)
  let refusals = 0
  plan = ({ operation }) =>
    refusals < 3 && (operation === 'scan' || operation === 'pageOfChanges')
      ? {
          before: () => {
            refusals++
            return Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'It is down.'))
          },
        }
      : undefined
  await put(1)
  expect(numbers((await next(pages)).items)).toEqual([1])
  expect(refusals).toBe(3)
  await pages.return()
})

it('the close of the store and a bad query reject a watch', async () => {
  await expect(next(watch(store, byUser, { n: 1 } as never))).rejects.toMatchObject({ code: 'BAD_QUERY' })
  await expect(next(watching({ limits: 3 } as never))).rejects.toMatchObject({ code: 'BAD_OPTION' })
  const unknown = defineIndex('unknown', { properties: { user: 'string' }, shardOn: 'user' })
  await expect(watch(store, unknown, { user: 'ada' }).next()).rejects.toMatchObject({
    code: 'INDEX_NOT_FOUND',
  })
  const open = watching()
  await next(open)
  const closed = open.next().catch((error: unknown) => error)
  await store.close()
  expect(await closed).toMatchObject({ code: 'CLOSED' })
  await expect(next(watching())).rejects.toMatchObject({ code: 'CLOSED' })
})

it('an item that moves away while its page is being read leaves the page', async () => {
  const id = await put(1)
  const { promise, resolve } = Promise.withResolvers<void>()
  let isSlow = true
  plan = ({ operation }) =>
    isSlow && (operation === 'read' || operation === 'readBounded') ? { after: () => promise } : undefined
  const pages = watching()
  const first = next(pages)
  await expect.poll(() => queries).toBe(1)
  isSlow = false
  await new Promise((done) => setTimeout(done, 100))
  // Another process writes, because writes of this one wait for the read.
  const other = await DataStore.open({ shards: keepOpen(memory) })
  await other.put({ user: 'bob', n: 1 }, { id })
  await other.close()
  // By now the hub has seen the write.
  await new Promise((done) => setTimeout(done, 600))
  resolve()
  expect(summaryOf(await first)).toEqual([[1], [1], [], []])
  expect(summaryOf(await next(pages))).toEqual([[], [], [], [1]])
  await pages.return()
})

it('a signal that fires before the first page, between two or during a wait ends the loop of a watch without an error', async () => {
  await put(1)
  const seen: number[][] = []
  for await (const { items } of watching({ signal: AbortSignal.abort() })) seen.push(numbers(items))
  expect(seen).toEqual([])
  expect(queries).toBe(0)
  const controller = new AbortController()
  for await (const { items } of watching({ signal: controller.signal })) {
    seen.push(numbers(items))
    await put(2)
    controller.abort()
  }
  expect(seen).toEqual([[1]])
  const later = new AbortController()
  const pages = watching({ signal: later.signal })
  await next(pages)
  const waiting = pages.next()
  later.abort()
  expect(await waiting).toEqual({ done: true, value: undefined })
})

it('`return` ends an iterator of a watch while its `next` waits, and the next loop queries again', async () => {
  await put(1)
  const pages = watching()
  await next(pages)
  const waiting = pages.next()
  await pages.return()
  expect(await waiting).toEqual({ done: true, value: undefined })
  const again = watching()
  expect(numbers((await next(again)).items)).toEqual([1])
  expect(queries).toBe(2)
  await again.return()
})

it('a page is yielded while a shard is down, and changes missed on it show when it is back', async () => {
  const down = store.context.router.shardOfKey(Buffer.from('ada')) === 0 ? 1 : 0
  const [id] = [await put(1)]
  let isDown = true
  plan = ({ shard, operation }) =>
    isDown && shard === down && operation === 'raiseFloor'
      ? {
          before() {
            throw new LooseleafError('SHARD_UNAVAILABLE', 'gone', { shard: 'down' })
          },
        }
      : undefined
  const pages = watching()
  expect(numbers((await next(pages)).items)).toEqual([1])
  const moved = next(pages)
  await put(7, id)
  isDown = false
  expect(numbers((await moved).items)).toEqual([7])
  await pages.return()
})

it('a hanging shard without items of the page does not delay the page', async () => {
  const other = store.context.router.shardOfKey(Buffer.from('ada')) === 0 ? 1 : 0
  const { promise: hang, resolve: release } = Promise.withResolvers<void>()
  const near = Array.from({ length: 50 }, () => store.newId()).find(
    (id) => store.context.router.shardOfId(parseId(id)) !== other,
  )
  await put(1, near)
  plan = ({ shard, operation }) =>
    shard === other && operation === 'raiseFloor' ? { before: () => hang } : undefined
  const pages = watching()
  expect(numbers((await next(pages)).items)).toEqual([1])
  release()
  await pages.return()
})

it('a page that is not complete is queried again until it is', async () => {
  await put(1)
  let isComplete = false
  // As with a pending index row: when a cleaner writes it, no entity changes.
  const lacking = {
    context: store.context,
    query: async (...args: Parameters<DataStore['query']>) => {
      const page = await store.query(...args)
      return isComplete ? page : { ...page, items: [], cost: { ...page.cost, complete: false } }
    },
  } as unknown as DataStore
  const pages = watch(lacking, byUser, { user: 'ada' }, { limit: 7 })
  expect(numbers((await next(pages)).items)).toEqual([])
  isComplete = true
  expect(numbers((await next(pages)).items)).toEqual([1])
  await pages.return()
  const before = queries
  await new Promise((done) => setTimeout(done, 1_200))
  expect(queries).toBe(before)
})

it('`watch` takes an index definition, and its error names the value that it got instead', async () => {
  const first = (index: unknown): Promise<unknown> => watch(store, index as never, {}).next()
  await expect(first({ definition: byUser, page() {} })).rejects.toMatchObject({
    code: 'BAD_INDEX',
    message:
      'watch takes an index as defineIndex gives it; got an index of a kind, whose `definition` it is.',
  })
  await expect(first('by_user')).rejects.toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringMatching(/got a string/),
  })
})
