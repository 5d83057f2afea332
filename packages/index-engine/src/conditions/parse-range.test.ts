import { errorOf } from '@looseleaf-tooling/kit/errors'
import { expect, test } from 'vitest'
import { plan } from '../../test/pages.ts'
import { defineIndex, type IndexDefinition } from '../definitions/define-index.ts'
import { defineKey } from '../definitions/key-functions.ts'
import type { PropertyOptions } from '../definitions/property-types.ts'
import { createMatcher } from './matcher.ts'

const tens = defineKey({
  name: 'tens',
  version: 1,
  from: 'number',
  derive: (value) => Math.floor(value / 10) * 10,
})
const weekday = defineKey({
  name: 'weekday',
  version: 1,
  from: 'time',
  to: 'integer',
  derive: (time) => time.getUTCDay(),
})
const opposite = defineKey({
  name: 'opposite',
  version: 1,
  from: 'integer',
  derive: (value) => -BigInt(value),
})

const by = (type: PropertyOptions['type'], key: PropertyOptions['key']): IndexDefinition =>
  defineIndex('ix', { properties: { at: { type, key } }, shardOn: 'at' })

const time = (text: string): Date => new Date(`${text}Z`)

test.each<[string, IndexDefinition, object, RegExp]>([
  [
    'lt within a day',
    by('time', 'day'),
    { lt: time('2026-03-31T23:59') },
    /^Index ix knows at by its day only, and lt would leave out smaller values with the same day\. Give lt the beginning of a day in UTC, or give lte, which takes in the whole day\.$/,
  ],
  [
    'gt at the beginning of an hour',
    by('time', 'hour'),
    { gt: time('2026-03-31T23:00') },
    /gt would leave out greater values with the same hour\. Give gte, which takes in the whole hour, or give gte the beginning of an hour in UTC to begin there\.$/,
  ],
  ['gt within a month', by('time', 'month'), { gt: time('2026-03-05T00:00') }, /takes in the whole month/],
  [
    'lt of a millisecond',
    by('time', 'month'),
    { lt: time('2026-03-01T00:00:00.001') },
    /beginning of a month/,
  ],
  [
    'lt of a string with more characters than the key',
    by('string', 'prefix(1)'),
    { lt: 'Mb' },
    /knows at by its prefix\(1\) only, .* Give lt the first value of a key, or give lte, which takes in all values of its key\.$/,
  ],
  [
    'gt of a string as long as the key',
    by('string', 'prefix(1)'),
    { gt: 'M' },
    /greater values with the same/,
  ],
  ['lt among the values of a key of the program', by('number', tens), { lt: 20.5 }, /by its tens@1 only/],
  [
    'lt within a day whose key is no time',
    by('time', weekday),
    { lt: time('2026-03-31T12:00') },
    /weekday@1/,
  ],
])('an open end of a range is refused if its key is on both sides: %s', (_, index, at, message) => {
  expect(errorOf(() => plan(index, { at }, {}))).toMatchObject({
    code: 'BAD_QUERY',
    message: expect.stringMatching(message),
  })
})

test.each<[string, IndexDefinition, object, readonly unknown[], readonly unknown[]]>([
  [
    'lt at the beginning of a day',
    by('time', 'day'),
    { lt: time('2026-03-31T00:00') },
    [time('2026-03-30T23:59:59.999')],
    [time('2026-03-31T00:00')],
  ],
  [
    'gt at the last millisecond of a month',
    by('time', 'month'),
    { gt: time('2026-03-31T23:59:59.999') },
    [time('2026-04-01T00:00')],
    [time('2026-03-31T23:59:59.999')],
  ],
  ['gt of a string shorter than the key', by('string', 'prefix(2)'), { gt: 'M' }, ['M\0', 'Ma'], ['M', 'L']],
  ['lt of the empty string', by('string', 'prefix(2)'), { lt: '' }, [], ['', 'a']],
  ['lt at the first value of a key', by('number', tens), { lt: 20 }, [19.999], [20, 29]],
  ['gt where the keys have another order', by('integer', opposite), { gt: 5 }, [4], [5, 6]],
  [
    'gt of a text by lower case',
    by('string', 'lower'),
    { gt: 'Bob' },
    ['BOBBY', 'eve'],
    ['bob', 'BOB', 'Al'],
  ],
  [
    'lt at the first of all times',
    by('time', 'day'),
    { lt: new Date(-8.64e15) },
    [],
    [new Date(-8.64e15), new Date(0)],
  ],
])('an open end of a range between two keys is exact: %s', (_, index, at, inside, outside) => {
  const matches = createMatcher(index, { at })
  expect(inside.map((value) => matches({ at: value as string }))).toEqual(inside.map(() => true))
  expect(outside.map((value) => matches({ at: value as string }))).toEqual(outside.map(() => false))
})

test('a closed end takes in all values of its key', () => {
  const matches = createMatcher(by('time', 'day'), {
    at: { gte: time('2026-03-05T12:00'), lte: time('2026-03-07T01:00') },
  })
  expect(matches({ at: time('2026-03-05T00:00') })).toBe(true)
  expect(matches({ at: time('2026-03-07T23:59:59.999') })).toBe(true)
  expect(matches({ at: time('2026-03-04T23:59:59.999') })).toBe(false)
  expect(matches({ at: time('2026-03-08T00:00') })).toBe(false)
})

test.each(['lower', 'lowerNfc'] as const)('startsWith by %s finds a last Σ as ς and as σ', (key) => {
  const matches = createMatcher(by('string', key), { at: { startsWith: 'ΟΔΟΣ' } })
  expect(['ΟΔΟΣ', 'ΟΔΟΣΑ', 'οδος', 'οδοσα', 'ΟΔΟΣ ΑΒ'].map((at) => matches({ at }))).toEqual(
    Array.from({ length: 5 }, () => true),
  )
  expect(['ΟΔΟ', 'ΟΔΟΡ', 'ΟΔΟΤ'].map((at) => matches({ at }))).toEqual([false, false, false])
})
