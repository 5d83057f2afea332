import { expect, test } from 'vitest'
import { bucketsOfMove, hasAttempt, ofMove, ofOthers, withoutBuckets } from './own-buckets.ts'

const first = { move: 1, attempt: 1, buckets: '0-9' }
const again = { move: 1, attempt: 2, buckets: '20-29' }
const other = { move: 2, attempt: 1, buckets: '30-39' }
const RECORDS = [first, other, again]

test('the records of a move are told from those of others', () => {
  expect(ofMove(RECORDS, 1)).toEqual([first, again])
  expect(ofOthers(RECORDS, 1)).toEqual([other])
  expect(ofMove(undefined, 1)).toEqual([])
  expect(ofOthers([first], 1)).toBeUndefined()
  expect(ofOthers(undefined, 1)).toBeUndefined()
})

test('the buckets of a move are joined', () => {
  expect(bucketsOfMove(RECORDS, 1)).toBe('0-9,20-29')
  expect(bucketsOfMove(RECORDS, 3)).toBe('')
  expect(bucketsOfMove(undefined, 1)).toBe('')
})

test('buckets are taken out of all records, and a record without any is left out', () => {
  expect(withoutBuckets(RECORDS, '5-29')).toEqual([{ ...first, buckets: '0-4' }, other])
  expect(withoutBuckets([first], '0-9')).toBeUndefined()
  expect(withoutBuckets(undefined, '0-9')).toBeUndefined()
})

test('an attempt has the buckets of all of its records, and no others', () => {
  const records = [...RECORDS, { ...first, buckets: '10-11' }]
  expect(hasAttempt(records, { ...first, buckets: '8-11' })).toBe(true)
  expect(hasAttempt(records, { ...first, buckets: '11-12' })).toBe(false)
  expect(hasAttempt(records, { ...first, buckets: '20' })).toBe(false)
  expect(hasAttempt(records, { ...other, buckets: '0' })).toBe(false)
  expect(hasAttempt(undefined, first)).toBe(false)
})
