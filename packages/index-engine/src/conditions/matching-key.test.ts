import type { Bag } from '@looseleaf/core'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { defineIndex } from '../definitions/define-index.ts'
import { deriveExactRows } from '../keys/derive-rows.ts'
import { matchingKey } from './matching-key.ts'
import { parseWhere, satisfies } from './parse-where.ts'

const index = defineIndex('ix', {
  properties: {
    owner: 'string',
    state: { type: 'string', key: 'lower', nulls: 'last' },
    due: { type: 'time', order: 'desc' },
    size: 'integer',
  },
  shardOn: 'owner',
  on: { kind: 'task' },
})

const long = 'x'.repeat(600)
const few = <T = unknown>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
const bags: fc.Arbitrary<Bag> = fc.record(
  {
    kind: few('task', 'task', 'task', 'note'),
    owner: few<unknown>('a', 'b', `${long}1`, `${long}2`, 7, null),
    state: few('Open', 'open', 'done', null, undefined),
    due: few(new Date(1), new Date(2), new Date(Number.NaN)),
    size: few<unknown>(1, 1n, 2, 1.5, undefined),
  },
  { requiredKeys: ['kind', 'owner', 'due'] },
) as fc.Arbitrary<Bag>
const wheres = few<object>(
  { owner: 'a' },
  { owner: `${long}1` },
  { owner: { in: ['a', 'b', `${long}2`] }, state: 'OPEN' },
  { owner: 'a', state: null, due: { gte: new Date(2) } },
  { owner: { gt: `${long}1` } },
)

test('matchingKey gives the key of the derived row that satisfies the query, whatever bags came before', () => {
  fc.assert(
    fc.property(wheres, fc.array(bags, { maxLength: 20 }), (where, all) => {
      const parsed = parseWhere(index, where)
      const keyOf = matchingKey(index, parsed, 'asc')
      for (const bag of all) {
        const row = deriveExactRows(index, bag).rows.find((each) => satisfies(parsed, each))
        expect(keyOf(bag)).toEqual(row?.key)
      }
    }),
  )
})

test('matchingKey compares long strings as a whole, also after another property', () => {
  const state = `${long}1`
  const keyOf = matchingKey(index, parseWhere(index, { owner: 'a', state }), 'asc')
  const bag = { kind: 'task', owner: 'a', state, due: new Date(1), size: 1 }
  expect(keyOf(bag)).toEqual(deriveExactRows(index, bag).rows[0]?.key)
  expect(keyOf({ ...bag, state: `${long}2` })).toBeUndefined()
  expect(keyOf({ ...bag, owner: 'b' })).toBeUndefined()
})

test('matchingKey gives another key after a Date was mutated', () => {
  const keyOf = matchingKey(index, parseWhere(index, { owner: 'a' }), 'asc')
  const bag = { kind: 'task', owner: 'a', due: new Date(1), size: 1 }
  const before = keyOf(bag)
  bag.due.setTime(2)
  expect(keyOf(bag)).not.toEqual(before)
})
