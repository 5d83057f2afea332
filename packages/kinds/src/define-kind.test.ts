import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, indexesOf, typed } from './index.ts'

const schema = typed<{ title: string; status: string }>()

test('an index has the name of its kind, and the kind in its `on`', () => {
  const kind = defineKind('issue', {
    schema,
    indexes: { byStatus: { by: [{ status: 'string' }, { title: 'string' }], include: ['title'] } },
  })
  expect(indexesOf(kind, kind)).toEqual(kind.indexes)
  expect(kind.indexes[0]).toMatchObject({
    name: 'issue_by_status',
    on: { _kind: 'issue' },
    shardOn: 'status',
    include: ['title'],
    types: { status: 'string', title: 'string' },
  })
})

test('indexesOf refuses two kinds or two indexes with the same name', () => {
  const kind = defineKind('issue', { schema, indexes: { byTitle: { by: [{ title: 'string' }] } } })
  const other = defineKind('issue_by', { schema, indexes: { title: { by: [{ title: 'string' }] } } })
  expect(() => indexesOf(kind, other)).toThrow(/Two indexes of these kinds have the name issue_by_title/)
  expect(() => indexesOf(kind, defineKind('issue', { schema }))).toThrow(/Two kinds have the name issue/)
  expect(() => indexesOf([kind] as never)).toThrow(/indexesOf takes kinds.*got an array/)
  expect(() => kind.in(undefined as never)).toThrow(/in of kind issue takes a DataStore; got nothing/)
})

test.each([
  [/takes no `on`/, 'issue', { schema, indexes: { byTitle: { by: [{ title: 'string' }], on: { a: 1 } } } }],
  [
    /has no option "uniqe"/,
    'issue',
    { schema, indexes: { byTitle: { by: [{ title: 'string' }], uniqe: true } } },
  ],
  [/defineKind takes a name of up to 30/, 'Issue', { schema }],
  [/takes options as an object; got nothing/, 'issue', undefined],
  [/option schema of .* has to be one that implements Standard Schema/, 'issue', { schema: {} }],
  [/takes \{ schema \}, one that implements/, 'issue', {}],
  [/has no option "index"; there are schema, indexes/, 'issue', { schema, index: {} }],
  [
    /option upgrades of .* has to be an array of functions; got a function/,
    'issue',
    { schema, upgrades: () => ({}) },
  ],
  [/option checkReads of .* has to be true or false/, 'issue', { schema, checkReads: 1 }],
  [/option indexes of .* has to be an object/, 'issue', { schema, indexes: 7 }],
  [
    /Index update of issue needs another name/,
    'issue',
    { schema, indexes: { update: { by: [{ title: 'string' }] } } },
  ],
  [/a name such as byAuthor/, 'issue', { schema, indexes: { by_title: { by: [{ title: 'string' }] } } }],
  [/needs a list `by` such as/, 'issue', { schema, indexes: { byTitle: { by: { title: 'string' } } } }],
  [
    /needs each property once, in an object of its own/,
    'issue',
    { schema, indexes: { a: { by: [{ a: 'string', b: 'string' }] } } },
  ],
  [/needs each property once/, 'issue', { schema, indexes: { a: { by: ['title'] } } }],
  [
    /Index issue_by_title: the type of title has to be .*; got 'text'/,
    'issue',
    { schema, indexes: { byTitle: { by: [{ title: 'text' }] } } },
  ],
])('defineKind refuses an invalid definition: %s', (message, name, options) => {
  expect(() => defineKind(name, options as never)).toThrow(message)
})

test.each([
  ['is asynchronous', async () => true],
  [
    'throws',
    () => {
      throw new Error('in the check')
    },
  ],
])('a schema that %s is refused at the first write', (_, check) => {
  const { shape } = defineKind('issue', { schema: z.object({ title: z.string().refine(check) }) })
  expect(() => shape.toBag({ title: 'x' }, { mayBeOutput: false })).toThrow(
    /The issue was not checked: its schema returned a promise, so it is asynchronous, or something in it throws/,
  )
})

test('an index needs nulls if its property may be absent by the schema', () => {
  const issue = z.object({
    title: z.string(),
    due: z.date().optional(),
    assignee: z.string().nullable(),
    review: z.object({ by: z.string() }).optional(),
    labels: z.array(z.object({ name: z.string().optional() })),
  })
  const define = (by: object): unknown =>
    defineKind('issue', { schema: issue, indexes: { byX: { by: [{ title: 'string' }, by] } } } as never)
  for (const [name, by] of [
    ['due', { due: 'time' }],
    ['assignee', { assignee: { type: 'string', order: 'desc' } }],
    ['review.by', { 'review.by': 'string' }],
    ['assignee', { assignee: { type: 'string', key: 'prefix(1)', as: 'initial' } }],
  ] as const) {
    expect(() => define(by)).toThrow(
      `Index byX of issue: the property ${name} may be absent or null by its schema; add nulls: 'first' or 'last' to index such entities, or 'skip' to leave them out.`,
    )
  }
  expect(() => define({ due: { type: 'time', nulls: 'skip' } })).not.toThrow()
  expect(() => define({ 'labels.name': 'string[]' })).not.toThrow()
})

test("nulls: 'skip' makes the same index as no nulls", () => {
  const of = (title: object | string): unknown =>
    defineKind('issue', { schema, indexes: { byTitle: { by: [{ title }] } } } as never).indexes[0]?.properties
  expect(of({ type: 'string', nulls: 'skip' })).toEqual(of('string'))
})

test('a schema that is a function, and as many former names as a list takes, are accepted', () => {
  const arktype = Object.assign(() => ({}), schema)
  const formerly = Array.from({ length: 15 }, (_, n) => `n${n}`)
  expect(defineKind('issue', { schema: arktype as typeof schema, formerly }).shape.names).toEqual([
    'issue',
    ...formerly,
  ])
})

test.each([
  [/takes options as an object/, 7],
  [/option schema of .* has to be one that implements/, { schema: 7 }],
  [/option schema of .* has to be one that implements/, { schema: { '~standard': {} } }],
  [/option upgrades of .* has to be an array of functions/, { schema, upgrades: [() => ({}), 1] }],
  [/option expires of .* has to be the path of a time/, { schema, expires: '' }],
  [/takes no `near`/, { schema, indexes: { byTitle: { by: [{ title: 'string' }], near: true } } }],
  [
    /needs each property once/,
    { schema, indexes: { a: { by: [{ title: 'string' }, { title: 'string' }] } } },
  ],
  [/needs each property once/, { schema, indexes: { a: { by: [{}] } } }],
  [/a name such as byAuthor/, { schema, indexes: { Title: { by: [{ title: 'string' }] } } }],
])('defineKind refuses a definition of a program without types: %s', (message, options) => {
  expect(() => defineKind('issue', options as never)).toThrow(message)
})

test('defineKind refuses a name that is no text', () => {
  expect(() => defineKind(undefined as never, { schema })).toThrow('defineKind takes a name of up to 30')
})

test('a collection needs a store that queries and updates', () => {
  const kind = defineKind('issue', { schema })
  for (const store of [{}, { query() {} }, { update() {} }])
    expect(() => kind.in(store as never)).toThrow('in of kind issue takes a DataStore; got an object')
})

test('a word of the name of an index stands after an underscore in the store', () => {
  const indexes = { byTitleAndStatus: { by: [{ title: 'string' }, { status: 'string' }] } } as const
  expect(defineKind('issue', { schema, indexes }).indexes.map(({ name }) => name)).toEqual([
    'issue_by_title_and_status',
  ])
})
