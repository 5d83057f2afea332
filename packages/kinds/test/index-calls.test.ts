import type { QueryOptions } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, test } from 'vitest'
import { Issue, openStore } from './issues.ts'

let store: DataStore
let issues: ReturnType<typeof Issue.in>

beforeEach(async () => {
  store = await openStore(Issue)
  issues = Issue.in(store)
})

const where = { project: 'p' }
const fill = (count: number): Promise<unknown> =>
  issues.insertMany(Array.from({ length: count }, (_, n) => ({ project: 'p', title: `${n}` })))

test('first reads longer and longer pages, up to the longest, while none of them has an item', async () => {
  const asked: (readonly [number | undefined, string | undefined])[] = []
  const query = store.query.bind(store)
  store.query = (async (index: never, of: never, options: QueryOptions) => {
    asked.push([options.limit, options.cursor])
    const page = await query(
      index,
      of,
      options.cursor === undefined ? options : { ...options, cursor: undefined },
    )
    return { ...page, items: [], ...(asked.length < 13 && { cursor: `${asked.length}` }) }
  }) as typeof store.query
  await fill(1)
  expect(await issues.byProject.first(where)).toBeUndefined()
  expect(asked.map(([limit]) => limit)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000, 1_000])
  expect(asked.map(([, cursor]) => cursor)).toEqual([
    undefined,
    ...Array.from({ length: 12 }, (_, n) => `${n + 1}`),
  ])
})

test('each begins behind a cursor, and reads page by page', async () => {
  await fill(7)
  const { items, cursor } = await issues.byProject.page(where, { limit: 2 })
  const limits: unknown[] = []
  const query = store.query.bind(store)
  store.query = ((index: never, of: never, options: QueryOptions) => {
    limits.push(options.limit)
    return query(index, of, options)
  }) as typeof store.query
  const rest = await Array.fromAsync(issues.byProject.each(where, { limit: 3, cursor: cursor! }))
  expect(limits).toEqual([3, 3])
  expect([...items, ...rest]).toEqual(await issues.byProject.all(where))
})

test('an index of a store is ready once it is filled', async () => {
  expect(await issues.byProject.isReady()).toBe(true)
})
