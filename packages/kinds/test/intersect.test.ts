import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, typed } from '../src/index.ts'
import { openStore, openStoreWith } from './issues.ts'

const Post = defineKind('post', {
  schema: z.object({
    author: z.string(),
    tags: z.array(z.string()),
    at: z.date(),
    state: z.string(),
  }),
  indexes: {
    byTag: { by: [{ tags: 'string[]' }, { at: 'time' }] },
    byAuthor: { by: [{ author: 'string' }, { at: 'time' }] },
    byWord: { by: [{ tags: 'string[]' }, { at: 'time' }], shardOn: 'id' },
  },
})
/** Another kind whose entities have the same type. */
const Draft = defineKind('draft', {
  schema: typed<{ author: string; tags: string[]; at: Date; state: string }>(),
  indexes: { byAuthor: { by: [{ author: 'string' }, { at: 'time' }] } },
})

async function openPosts() {
  const store = await openStore(Post)
  const posts = Post.in(store)
  const items = await posts.insertMany(
    Array.from({ length: 60 }, (_, i) => ({
      author: i % 2 === 0 ? 'ann' : 'bob',
      tags: [i % 3 === 0 ? 'a' : 'z', i % 5 === 0 ? 'b' : 'y'],
      at: new Date(i * 1_000),
      state: 'open',
    })),
  )
  return { store, posts, items }
}

test('an intersection returns the items that match all of its conditions, page by page, in the order of the indexes', async () => {
  const { posts, items } = await openPosts()
  const conditions = [
    posts.byTag.condition({ tags: 'a' }),
    posts.byTag.condition({ tags: 'b' }),
    posts.byAuthor.condition({ author: 'ann' }),
  ]
  const matching = items.filter((_, i) => i % 30 === 0).toReversed()
  const first = await posts.intersect(conditions, { order: 'desc', limit: 1 })
  const second = await posts.intersect(conditions, { order: 'desc', limit: 1, cursor: first.cursor })
  expect([...first.items, ...second.items]).toEqual(matching)
  const back = await posts.intersect(conditions, { order: 'desc', limit: 1, cursor: second.previous })
  expect(back.items).toEqual(first.items)
})

test('a range in one condition of an intersection applies to all', async () => {
  const { posts, items } = await openPosts()
  const at = { gte: new Date(10_000), lt: new Date(31_000) }
  const page = await posts.intersect([
    posts.byAuthor.condition({ author: 'ann', at }),
    posts.byTag.condition({ tags: 'a' }),
  ])
  expect(page.items).toEqual([12, 18, 24, 30].map((i) => items[i]))
})

test('an intersection with one list merges the items of all its values in one order, page by page', async () => {
  const { posts, items } = await openPosts()
  const anybody = posts.byAuthor.condition({ author: { in: ['bob', 'nobody', 'ann'] } })
  const read = (cursor?: string) => posts.intersect([anybody], { order: 'desc', limit: 25, cursor })
  const pages = [await read()]
  for (let cursor; (cursor = pages.at(-1)?.cursor) !== undefined;) pages.push(await read(cursor))
  expect(pages.map((page) => page.items.length)).toEqual([25, 25, 10])
  expect(pages.flatMap((page) => page.items)).toEqual(items.toReversed())
  expect((await read(pages[2]?.previous)).items).toEqual(items.toReversed().slice(25, 50))
})

test('an item matches a condition with a list if it has one of its values, and is on one page only', async () => {
  const { posts, items } = await openPosts()
  const page = await posts.intersect([
    posts.byTag.condition({ tags: { in: ['a', 'b'] } }),
    posts.byAuthor.condition({ author: 'ann' }),
  ])
  expect(page.items).toEqual(items.filter((_, i) => i % 2 === 0 && (i % 3 === 0 || i % 5 === 0)))
})

test('an intersection asks all shards for a condition with scatter, and needs it where the rows are near their entities', async () => {
  const { posts, items } = await openPosts()
  const author = posts.byAuthor.condition({ author: 'bob' })
  const { items: found } = await posts.intersect([
    author,
    posts.byWord.condition({ tags: 'b' }, { scatter: true }),
  ])
  expect(found).toEqual([5, 15, 25, 35, 45, 55].map((i) => items[i]))
  const withoutScatter = posts.byWord.condition({ tags: 'b' } as never)
  await expect(posts.intersect([author, withoutScatter])).rejects.toMatchObject({ code: 'BAD_QUERY' })
})

test('a condition keeps the values that it was made of', async () => {
  const { posts } = await openPosts()
  const where = { tags: 'a', at: { lt: new Date(1_000) } }
  const condition = posts.byTag.condition(where)
  where.tags = 'none'
  where.at.lt.setTime(0)
  expect((await posts.intersect([condition])).items).toHaveLength(1)
})

test('an intersection leaves out an item that an upgrade gives another value than a condition has', async () => {
  const Upgraded = defineKind('post', {
    schema: typed<{ author: string; state: string; at: Date }>(),
    indexes: {
      byAuthor: { by: [{ author: 'string' }, { at: 'time' }] },
      byState: { by: [{ state: 'string' }, { at: 'time' }] },
    },
    upgrades: [(bag) => ({ ...bag, state: 'open' })],
  })
  const store = await openStoreWith({ onWarning: () => {} }, Upgraded)
  const posts = Upgraded.in(store)
  const { id } = await store.insert({ _kind: 'post', author: 'ann', state: 'draft', at: new Date(0) })
  const author = posts.byAuthor.condition({ author: 'ann' })
  const draft = posts.byState.condition({ state: 'draft' })
  const stored = [author, draft].map(({ index, where }) => ({ index, where }))
  expect((await store.intersect(stored as never)).items).toMatchObject([{ id, state: 'draft' }])
  expect((await posts.intersect([author])).items).toMatchObject([{ id, state: 'open' }])
  expect((await posts.intersect([author, draft])).items).toEqual([])
})

test('an intersection refuses conditions of another kind, none, and unknown options', async () => {
  const { store, posts } = await openPosts()
  const author = posts.byAuthor.condition({ author: 'ann' })
  const foreign = Draft.in(store).byAuthor.condition({ author: 'ann' })
  const refused: readonly [unknown, object?][] = [
    [[foreign]],
    [[]],
    [author],
    [[{ where: { author: 'ann' } }]],
    [[author], { scatter: true }],
  ]
  for (const [conditions, options] of refused)
    await expect(posts.intersect(conditions as never, options)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  expect(() => posts.byAuthor.condition({ author: 'ann' }, { limit: 3 } as never)).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION' }),
  )
})
