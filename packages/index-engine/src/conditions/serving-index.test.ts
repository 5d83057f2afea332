import { errorOf } from '@looseleaf-tooling/kit/errors'
import { expect, it } from 'vitest'
import { defineIndex } from '../definitions/define-index.ts'
import { parseWhere } from './parse-where.ts'

const tasks = defineIndex('tasks', {
  properties: {
    status: 'string',
    weight: { type: 'integer', nulls: 'last' },
    due: { type: 'time', order: 'desc' },
    tags: 'string[]',
  },
  shardOn: 'status',
})
const at = new Date(0)

const refusal = (where: object): string => {
  const { code, message } = errorOf(() => parseWhere(tasks, where))
  expect(code).toBe('BAD_QUERY')
  return message
}

it.each<[string, object, string]>([
  ['a gap', { status: 'a', due: at }, "status: 'string', due: { type: 'time', order: 'desc' }"],
  [
    'a null behind a gap',
    { weight: null, tags: 'a' },
    "weight: { type: 'integer', nulls: 'last' }, tags: 'string[]'",
  ],
  ['an array', { tags: 'a' }, "tags: 'string[]'"],
  [
    'a range, which goes last',
    { due: { gte: at }, tags: 'a' },
    "tags: 'string[]', due: { type: 'time', order: 'desc' }",
  ],
  [
    'a list, which does not',
    { due: { in: [at] }, tags: { startsWith: 'a' } },
    "due: { type: 'time', order: 'desc' }, tags: 'string[]'",
  ],
  ['a property that it does not have', { status: 'a', owner: 'b' }, "status: 'string', owner: 'string'"],
  ['one within an object', { 'owner.id': 'b' }, '"owner.id": \'string\''],
  ['a number', { n: 5 }, "n: 'number'"],
  ['a bigint', { n: 5n }, "n: 'integer'"],
  ['a boolean', { done: { in: [true, false] } }, "done: 'boolean'"],
  ['a time', { seen: { lt: at } }, "seen: 'time'"],
])('an error names the index that would serve %s', (_, where, properties) => {
  const message = refusal(where)
  expect(message.endsWith(` An index with properties { ${properties} } would serve it.`)).toBe(true)
  expect(message).toMatch(/^Index tasks (has no property|cannot use) [^.]*(\.[a-z]+)?[^.]*\. An index/)
})

it.each<[string, object]>([
  ['of two ranges', { due: { gte: at }, tags: { startsWith: 'a' } }],
  ['of null alone, which would be all entities', { weight: null }],
  ['of null, whose type is unknown', { owner: null }],
  ['of null in a property that has no rows for it', { due: null }],
  ['of a value of another type', { status: 5, owner: 'a' }],
  ['of values of several types', { owner: { in: ['a', 5] } }],
  ['of a list without an end', { owner: { in: Object.assign([], { length: 2 ** 32 - 1 }) } }],
  ['of an empty list', { owner: { in: [] } }],
  ['of an object', { owner: { name: { first: 'a' } } }],
  ['of an unknown operator', { owner: { above: 'a' } }],
  ['of the id', { id: 'a' }],
  ['of a name that no index can have', { 'a..b': 'a' }],
  ['of more properties than an index has', Object.fromEntries(Array.from('abcdefghi', (name) => [name, 1]))],
  ['of six strings, which no key holds', Object.fromEntries(Array.from('abcdef', (name) => [name, 'x']))],
])('an error names no index for a where %s', (_, where) => {
  expect(refusal(where)).not.toContain('would serve')
})

it('an error contains no values', () => {
  expect(refusal({ owner: 'secret', due: { gte: at } })).not.toMatch(/secret|1970/)
})
