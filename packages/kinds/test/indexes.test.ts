import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, unchanged } from '@looseleaf/store'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, typed } from '../src/index.ts'
import { Issue, openStore } from './issues.ts'

const Note = defineKind('note', {
  schema: typed<{ project: string }>(),
  indexes: { byProject: { by: [{ project: 'string' }] } },
})

const at = (day: number): Date => new Date(Date.UTC(2026, 0, day))

test('an index returns the entities of its kind only, in its order', async () => {
  const store = await openStore(Issue, Note)
  const issues = Issue.in(store)
  await Note.in(store).insert({ project: 'p' })
  const late = await issues.insert({ project: 'p', title: 'late', due: at(9), labels: ['bug', 'ui'] })
  const soon = await issues.insert({ project: 'p', title: 'soon', due: at(2) })
  const never = await issues.insert({ project: 'p', title: 'never', assignee: 'ann' })
  await issues.insert({ project: 'q', title: 'other' })
  const { items, cursor } = await issues.byProject.page({ project: 'p' }, { limit: 2 })
  expect(items).toEqual([soon, late])
  expect((await issues.byProject.page({ project: 'p' }, { limit: 2, cursor: cursor! })).items).toEqual([
    never,
  ])
  expect(await issues.byProject.all({ project: 'p', due: { lt: at(5) } })).toEqual([soon])
  expect(await issues.byLabel.first({ labels: 'ui' })).toEqual(late)
  expect(await issues.byLabel.first({ labels: 'none' })).toBeUndefined()
  expect(await issues.byInitial.all({ initial: 's' })).toEqual([soon])
  expect(await issues.byTitle.first({ title: 'LATE' })).toEqual(late)
  expect(await issues.byAssignee.count({ assignee: null, status: { in: ['open', 'closed'] } })).toBe(3)
  expect(await Array.fromAsync(issues.byProject.each({ project: 'p' }, { limit: 1 }))).toEqual([
    soon,
    late,
    never,
  ])
})

test('deleteWhere with a lt within a day of an index by day deletes nothing, and names the ends that it takes', async () => {
  const Visit = defineKind('visit', {
    schema: typed<{ start: Date }>(),
    indexes: { byDay: { by: [{ start: { type: 'time', key: 'day', as: 'day' } }] } },
  })
  const visits = Visit.in(await openStore(Visit))
  const times = ['2026-03-31T00:00', '2026-03-31T23:58', '2026-03-31T23:59:30', '2026-04-01T00:00']
  for (const time of times) await visits.insert({ start: new Date(`${time}Z`) })
  const cutoff = new Date('2026-03-31T23:59Z')
  const count = (day: { lt: Date } | { lte: Date }): Promise<number> =>
    visits.byDay.count({ day }, { scatter: true })
  for (const refused of [
    count({ lt: cutoff }),
    visits.byDay.deleteWhere({ day: { lt: cutoff } }, { scatter: true }),
  ]) {
    await expect(refused).rejects.toMatchObject({
      code: 'BAD_QUERY',
      message: expect.stringContaining(
        'Give lt the beginning of a day in UTC, or give lte, which takes in the whole day',
      ),
    })
  }
  expect(await count({ lte: cutoff })).toBe(3)
  expect(await count({ lt: new Date('2026-04-01') })).toBe(3)
  expect(await count({ lt: new Date('2026-03-31') })).toBe(0)
})

test('an index on a property of one variant of a union has rows for the entities of that variant', async () => {
  const Event = defineKind('event', {
    schema: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('click'), element: z.string() }),
      z.object({ kind: z.literal('buy'), product: z.string() }),
    ]),
    indexes: { byProduct: { by: [{ product: 'string' }] }, byKind: { by: [{ kind: 'string' }] } },
  })
  const events = Event.in(await openStore(Event))
  await events.insert({ kind: 'click', element: '#a' })
  const bought = await events.insert({ kind: 'buy', product: 'p' })
  expect(await events.byProduct.all({ product: 'p' })).toEqual([bought])
  expect(await events.byKind.count({ kind: { in: ['click', 'buy'] } })).toBe(2)
})

test("entities without the property are found by null, and have no row with nulls: 'skip'", async () => {
  const Task = defineKind('task', {
    schema: z.object({ owner: z.string(), due: z.date().nullable() }),
    indexes: {
      byDue: { by: [{ owner: 'string' }, { due: { type: 'time', nulls: 'last' } }] },
      byFixedDue: { by: [{ owner: 'string' }, { due: { type: 'time', nulls: 'skip' } }] },
    },
  })
  const tasks = Task.in(await openStore(Task))
  const dated = await tasks.insert({ owner: 'ann', due: at(1) })
  const open = await tasks.insert({ owner: 'ann', due: null })
  expect(await tasks.byFixedDue.all({ owner: 'ann' })).toEqual([dated])
  expect(await tasks.byDue.all({ owner: 'ann' })).toEqual([dated, open])
  expect(await tasks.byDue.all({ owner: 'ann', due: null })).toEqual([open])
  expect(await tasks.byDue.all({ owner: { in: [] } })).toEqual([])
  expect(await tasks.byDue.deleteWhere({ owner: 'ann' })).toEqual({ done: 2, failed: [], complete: true })
})

test('pageMany returns a page per condition, with counts', async () => {
  const issues = Issue.in(await openStore(Issue, Note))
  for (const project of ['p', 'p', 'p', 'q'])
    await issues.insert({ project, title: `${project} ${Math.random()}`, due: at(3) })
  const wheres = ['q', 'none', 'p'].map((project) => ({ project }))
  const pages = await issues.byProject.pageMany(wheres, { limit: 2, order: 'desc', count: true })
  expect(pages.map(({ items, count }) => [items.length, count])).toEqual([
    [1, 1],
    [0, 0],
    [2, 3],
  ])
  expect(pages[0]?.items[0]).toMatchObject({ project: 'q', version: expect.any(Number) })
  expect(pages[0]?.items[0]).not.toHaveProperty('_kind')
  expect(await issues.byProject.countMany(wheres)).toEqual([1, 0, 3])
  expect((await issues.byProject.ids({ project: 'q' })).items).toEqual([{ id: pages[0]?.items[0]?.id }])
  expect(await issues.byProject.explain({ project: 'p' })).toMatchObject({
    index: 'issue_by_project',
    scatter: false,
    estimatedRows: 3,
  })
})

test('a query asks one shard if it can, and needs scatter otherwise', async () => {
  const issues = Issue.in(await openStore(Issue))
  // @ts-expect-error shardOn has no value
  await expect(issues.byProject.page({})).rejects.toThrow(/scatter/)
  expect((await issues.byProject.page({ project: 'p' })).cost.shards).toBe(1)
  expect((await issues.byProject.page({}, { scatter: true })).cost.shards).toBe(2)
})

async function filled(count: number): Promise<ReturnType<typeof Issue.in>> {
  const issues = Issue.in(await openStore(Issue))
  const made = Array.from({ length: count }, (_, n) => ({ project: 'p', title: `issue ${n}`, due: at(1) }))
  await issues.insertMany(made)
  await issues.insert({ project: 'q', title: 'another' })
  return issues
}

test('updateWhere changes each entity once, although the change moves it ahead in the index', async () => {
  const issues = await filled(450)
  const counts: number[] = []
  const next = (due: Date | undefined): Date => new Date(Number(due) + 60_000)
  const result = await issues.byProject.updateWhere({ project: 'p' }, ({ due }) => ({ due: next(due) }), {
    onProgress: ({ done }) => counts.push(done),
  })
  expect(result).toEqual({ done: 450, failed: [], complete: true })
  expect(counts.at(-1)).toBe(450)
  const all = await issues.byProject.all({ project: 'p' })
  expect(new Set(all.map(({ due }) => Number(due)))).toEqual(new Set([Number(at(1)) + 60_000]))
})

test('deleteWhere continues from a cursor', async () => {
  const issues = await filled(450)
  const stop = new AbortController()
  let cursor: string | undefined
  const begun = issues.byProject.deleteWhere(
    { project: 'p' },
    {
      signal: stop.signal,
      onProgress(progress) {
        cursor = progress.cursor
        stop.abort()
      },
    },
  )
  await expect(begun).rejects.toMatchObject({ code: 'ABORTED' })
  expect(await issues.byProject.count({ project: 'p' }, { exact: true })).toBe(250)
  expect(await issues.byProject.deleteWhere({ project: 'p' }, { cursor: cursor! })).toEqual({
    done: 250,
    failed: [],
    complete: true,
  })
  expect(await issues.byProject.count({ project: 'p' }, { exact: true })).toBe(0)
  expect(await issues.byProject.count({ project: 'q' }, { exact: true })).toBe(1)
})

test('updateWhere lists the refused entities, is not complete then, and changes all others', async () => {
  const issues = await filled(3)
  const { done, failed, complete } = await issues.byProject.updateWhere({ project: 'p' }, { title: 'same' })
  expect([done, complete]).toEqual([1, false])
  expect(failed.map(({ error }) => (error as { code?: string }).code)).toEqual([
    'DUPLICATE_KEY',
    'DUPLICATE_KEY',
  ])
  const none = await issues.byProject.updateWhere({ project: 'p' }, () => unchanged)
  expect(none).toEqual({ done: 0, failed: [], complete: true })
})

test('an async onProgress that throws rejects the call', async () => {
  const issues = await filled(1)
  const onProgress = async (): Promise<void> => {
    throw new Error('the log is full')
  }
  await expect(issues.byProject.deleteWhere({ project: 'p' }, { onProgress })).rejects.toThrow(
    'the log is full',
  )
})

test('list returns the properties of covering rows', async () => {
  const Book = defineKind('book', {
    schema: typed<{ author: string; title: string; pages: number }>(),
    indexes: { byAuthor: { by: [{ author: 'string' }], include: ['title'] } },
  })
  const books = Book.in(await openStore(Book))
  const { id } = await books.insert({ author: 'ada', title: 'Notes', pages: 7 })
  const { items, verified, cost } = await books.byAuthor.list({ author: 'ada' })
  expect(items).toEqual([{ id, author: 'ada', title: 'Notes' }])
  const titles: string[] = items.map(({ title }) => title)
  expect([titles, verified, cost.entitiesCovered]).toEqual([['Notes'], true, 1])
})

test('list of an index without include is refused with the call of the kind that reads it', async () => {
  const issues = await filled(1)
  await expect(issues.byProject.list({ project: 'p' })).rejects.toMatchObject({
    code: 'BAD_QUERY',
    message:
      'Index issue_by_project includes no properties, so it cannot list them: add `include` to its definition, or use `page`.',
  })
})

test('calls of a store take the definition of an index, and the error for an index says so', async () => {
  const store = await openStore(Issue)
  const issues = Issue.in(store)
  const issue = await issues.insert({ project: 'p', title: 'Title' })
  const { items } = await store.query(issues.byInitial.definition, { initial: 'T' })
  expect(items.map((entity) => issues.itemOf(entity))).toEqual([issue])
  await expect(store.query(issues.byInitial as never, { initial: 'T' })).rejects.toMatchObject({
    code: 'BAD_INDEX',
    message: expect.stringMatching(/got an index of a kind, whose `definition` it is/),
  })
  await expect(store.query(Issue as never, {})).rejects.toThrow(
    /got a kind, whose collection has its indexes/,
  )
})

test('a kind in place of definitions is refused, and the error names indexesOf', async () => {
  const aKind = { code: 'BAD_INDEX', message: expect.stringContaining('indexesOf(…)') }
  const opening = DataStore.open({ shards: memoryShards(1), indexes: [Issue] as never, migrate: true })
  await expect(opening).rejects.toMatchObject(aKind)
  await expect((await openStore()).addIndex(Issue as never)).rejects.toMatchObject(aKind)
})

test("null and an empty array free a unique key with nulls: 'skip'", async () => {
  const kind = defineKind('account', {
    schema: typed<{ mail: string | null; aliases: readonly string[] }>(),
    indexes: {
      byMail: { by: [{ mail: { type: 'string', key: 'lower', nulls: 'skip' } }], unique: true },
      byAlias: { by: [{ aliases: { type: 'string[]', nulls: 'skip' } }], unique: true },
    },
  })
  const accounts = kind.in(await openStore(kind))
  const first = await accounts.insert({ mail: 'a', aliases: ['b'] })
  await expect(accounts.insert({ mail: 'A', aliases: [] })).rejects.toMatchObject({ holder: first.id })
  await expect(accounts.insert({ mail: null, aliases: ['b'] })).rejects.toMatchObject({ holder: first.id })
  await accounts.update(first, { mail: null, aliases: [] })
  const second = await accounts.insert({ mail: 'A', aliases: ['b'] })
  expect(await accounts.byAlias.first({ aliases: 'b' })).toEqual(second)
})
