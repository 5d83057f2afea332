import { expect, test } from 'vitest'
import { checkConsumerName } from './names.ts'
import { lagOf } from './lag.ts'
import { failingIn, recordFromText, recordToText } from './partition-record.ts'

const change = { id: 'a', version: 2, attempts: 3, error: 'down', failedAt: 4 }

test('a record of a partition is read as it was written, and any other text is none', () => {
  const record = {
    incarnation: 'i',
    place: { updated: 5, addedId: 6 },
    since: 7,
    failing: [change, { ...change, id: 'b', passed: { to: 1, at: 8, behind: 9 } }],
    process: 'host 1',
  }
  expect(recordFromText(recordToText(record))).toEqual(record)
  expect([recordFromText(''), recordFromText('5')]).toEqual([undefined, undefined])
})

test('a list of failing changes is read without items that are none', () => {
  const items = [null, 5, {}, { id: 'a' }, { error: 'down' }, { id: 5, error: 'down' }, change]
  expect(failingIn(items)).toEqual([change])
  expect(failingIn({ 0: change })).toEqual([])
})

test('the lag of a place is its age in milliseconds, and unknown if it is more than a second ahead of the clock', () => {
  const now = 5_000_000
  expect(lagOf(0, now)).toBe(Infinity)
  expect([lagOf(now - 1_500, now), lagOf(now - 1_499, now)]).toEqual([2, 1])
  expect(lagOf(now + 1_000_000, now)).toBe(0)
  expect(lagOf(now + 1_000_001, now)).toBeUndefined()
})

test.each([undefined, 5, '', '7x', 'a b', 'a'.repeat(65)])('%j is no name of a consumer', (name) => {
  expect(() => checkConsumerName('consume', name)).toThrow('consume takes a name of up to 64 letters')
})
