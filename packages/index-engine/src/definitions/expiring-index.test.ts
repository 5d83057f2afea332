import type { IndexDefinitionData } from '@looseleaf/core'
import { expect, it, test } from 'vitest'
import { entriesOf, sameRows } from './catalog-entries.ts'
import { definitionFromData, defineIndex } from './define-index.ts'
import { isExpiring } from './expiring-index.ts'

const time = { properties: { until: 'time' }, shardOn: 'id', expires: 'until' } as const

it.each([
  ['the time alone', time, true],
  ['under another name', { ...time, properties: { end: { type: 'time', of: 'until' } } }, true],
  ['of some entities', { ...time, on: { kind: 'session' } }, true],
  ['no expires', { properties: time.properties, shardOn: 'id' }, false],
  ['another path', { ...time, expires: 'end' }, false],
  ['the shard of the time', { ...time, shardOn: 'until' }, false],
  ['a second property', { ...time, properties: { until: 'time', user: 'string' } }, false],
  ['rounded times', { ...time, properties: { until: { type: 'time', key: 'hour' } } }, false],
  ['the latest first', { ...time, properties: { until: { type: 'time', order: 'desc' } } }, false],
  [
    'rows without a time',
    { ...time, properties: { until: { type: 'time', nulls: 'last' } }, on: { a: 1 } },
    false,
  ],
  ['many times', { ...time, properties: { until: 'time[]' } }, false],
] as const)('entities are deleted by an index with %s: %j is %s', (_, options, expiring) => {
  const index = defineIndex('ends', options as never)
  expect(isExpiring(index)).toBe(expiring)
  // A store keeps expires for such an index only.
  const [entry] = entriesOf(index) as [IndexDefinitionData]
  expect(entry.expires).toBe(expiring ? 'until' : undefined)
  expect(sameRows(entry, index)).toBe(true)
  expect(definitionFromData(entry).expires).toBe(entry.expires)
})

test('an index by which entities are deleted has other rows than a plain one', () => {
  const { expires: _, ...plain } = time
  expect(sameRows(defineIndex('ends', time), defineIndex('ends', plain))).toBe(false)
})

test('the claims of an index do not store expires', () => {
  const index = defineIndex('by_token', {
    properties: { token: 'string' },
    shardOn: 'token',
    unique: true,
    expires: 'until',
  })
  expect(entriesOf(index).map((entry) => 'expires' in entry)).toEqual([false, false])
})

test('expires has to be a property name', () => {
  expect(() => defineIndex('ends', { ...time, expires: 7 as never })).toThrow(
    expect.objectContaining({ code: 'BAD_INDEX' }),
  )
})
