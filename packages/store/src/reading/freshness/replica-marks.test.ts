import { expect, test } from 'vitest'
import { createReplicaMarks } from './replica-marks.ts'

const any = -Infinity

test('a replica that has replayed a raise knows the writes acknowledged before it was sent', () => {
  const marks = createReplicaMarks()
  marks.raised(1_000, 10)
  marks.raised(2_000, 20)
  expect(marks.asOf(999, any)).toBeUndefined()
  expect([1_000, 1_999, 2_000, 9_999].map((floor) => marks.asOf(floor, any))).toEqual([10, 10, 20, 20])
  expect(marks.asOf(1_500, 1_000)).toBeUndefined()
})

test('a floor raised by another process was raised after the look before', () => {
  const marks = createReplicaMarks()
  marks.seen(1_000, 10)
  expect(marks.asOf(1_000, any)).toBeUndefined()
  marks.seen(1_000, 20)
  marks.seen(2_000, 30)
  expect(marks.asOf(2_000, any)).toBe(20)
})

test.each(['raised', 'seen'] as const)('a floor that falls makes all earlier marks invalid (%s)', (how) => {
  const marks = createReplicaMarks()
  marks.raised(1_000, 1)
  marks.seen(1_000, 5)
  marks[how](995, 6)
  expect(marks.asOf(1_000, any)).toBe(how === 'raised' ? 6 : undefined)
  expect(marks.asOf(994, any)).toBeUndefined()
})

test('only some of very many marks are kept, with the newest, and none overstates the age', () => {
  const marks = createReplicaMarks()
  for (let n = 1; n <= 10_000; n++) {
    marks.raised(n * 10, n)
    expect(marks.asOf(n * 10, any)).toBe(n)
  }
  for (let n = 1; n <= 10_000; n++) expect(marks.asOf(n * 10, any) ?? 0).toBeLessThanOrEqual(n)
  expect(marks.asOf(20_000, any)).toBeGreaterThan(1_900)
})
