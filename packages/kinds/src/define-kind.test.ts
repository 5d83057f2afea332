import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, indexesOf, typed } from './index.ts'

const schema = typed<{ title: string; status: string }>()

test('indexes are named after the kind, and see it alone', () => {
  const kind = defineKind('issue', {
    schema,
    indexes: { byStatus: { by: [{ status: 'string' }, { title: 'string' }], include: ['title'] } },
  })
  expect(indexesOf(kind, kind)).toHaveLength(2)
  expect(kind.indexes[0]).toMatchObject({
    name: 'issue_by_status',
    on: { _kind: 'issue' },
    shardOn: 'status',
    include: ['title'],
    types: { status: 'string', title: 'string' },
  })
})

test.each([
  [/defineKind takes a name of up to 30/, 'Issue', { schema }],
  [/takes options such as \{ schema, indexes \}; got nothing/, 'issue', undefined],
  [/takes as its schema one that speaks Standard Schema/, 'issue', { schema: {} }],
  [/takes as its schema/, 'issue', {}],
  [/has no option "index"; there are schema, indexes/, 'issue', { schema, index: {} }],
  [/takes as upgrades an array of functions; got a function/, 'issue', { schema, upgrades: () => ({}) }],
  [/takes as checkReads true or false/, 'issue', { schema, checkReads: 1 }],
  [/takes as indexes an object/, 'issue', { schema, indexes: 7 }],
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
])('%s', (message, name, options) => {
  expect(() => defineKind(name, options as never)).toThrow(message)
})

test('a schema that is asynchronous is refused when it is used', async () => {
  const later = z.object({ title: z.string().refine(async () => true) })
  const { shape } = defineKind('issue', { schema: later })
  expect(() => shape.toBag({ title: 'x' })).toThrow(/is asynchronous; it has to answer at once/)
})
