import { expect, test } from 'vitest'
import { defineIndex } from '../definitions/define-index.ts'
import { createMatcher } from './matcher.ts'

const index = defineIndex('ix', {
  properties: { place: { type: 'string', nulls: 'first' }, tags: 'string[]' },
  shardOn: 'place',
  on: { kind: 'task' },
})

test('a matcher tells whether a bag has a row that satisfies the query, by whole strings', () => {
  const long = 'x'.repeat(600)
  const matches = createMatcher(index, { place: null, tags: { in: ['a', `${long}1`] } })
  expect(matches({ kind: 'task', tags: ['b', 'a'] })).toBe(true)
  expect(matches({ kind: 'task', place: null, tags: [`${long}1`] })).toBe(true)
  expect(matches({ kind: 'task', tags: [`${long}2`] })).toBe(false)
  expect(matches({ kind: 'task', place: 'p', tags: ['a'] })).toBe(false)
  expect(matches({ kind: 'task', tags: [] })).toBe(false)
  expect(matches({ kind: 'note', tags: ['a'] })).toBe(false)
})

test('a matcher of a query that the index cannot serve throws BAD_QUERY', () => {
  expect(() => createMatcher(index, { tags: 'a' })).toThrow(expect.objectContaining({ code: 'BAD_QUERY' }))
})
