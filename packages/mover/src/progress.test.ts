import { expect, test } from 'vitest'
import { freshRecord, type MoveRecord } from './move-record.ts'
import { amountOf } from './progress.ts'

const recordOf = (parts: Partial<MoveRecord>, read = 0): MoveRecord => {
  const record = freshRecord({ from: 0, buckets: '1' })
  return { ...record, counts: { ...record.counts, read }, ...parts }
}

test('every row is read twice, and the time left follows from the rate', () => {
  expect(amountOf(recordOf({ total: 100, rate: 10 }, 50))).toEqual({
    total: 200,
    rate: 10,
    timeLeftMs: 15_000,
  })
  expect(amountOf(recordOf({ step: 'checking', total: 100, rate: 30 }, 150))).toMatchObject({
    timeLeftMs: 1_667,
  })
})

test('the total is never less than the rows that were read', () => {
  expect(amountOf(recordOf({ total: 100, rate: 10 }, 250))).toEqual({ total: 250, rate: 10, timeLeftMs: 0 })
})

test('no time is estimated before the rate and the total are known', () => {
  expect(amountOf(recordOf({ total: 100 })).timeLeftMs).toBeUndefined()
  expect(amountOf(recordOf({ rate: 10 }, 5)).timeLeftMs).toBeUndefined()
})

test('no time is left once the copies were compared', () => {
  expect(amountOf(recordOf({ step: 'sealing', total: 100 })).timeLeftMs).toBe(0)
  expect(amountOf(recordOf({ step: 'done' })).timeLeftMs).toBe(0)
})
