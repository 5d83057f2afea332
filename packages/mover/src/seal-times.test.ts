import { expect, test } from 'vitest'
import { sealTimesOf } from './seal-times.ts'

test('the times of seals are ordered by their length, whatever the order of the groups was', () => {
  expect(sealTimesOf([])).toEqual({ groups: 0, p50: undefined, p99: undefined, worst: undefined })
  expect(sealTimesOf([4])).toEqual({ groups: 1, p50: 4, p99: 4, worst: 4 })
  expect(sealTimesOf([10, 9, 2])).toEqual({ groups: 3, p50: 9, p99: 10, worst: 10 })
  const times = Array.from({ length: 200 }, (_, i) => 200 - i)
  expect(sealTimesOf(times)).toEqual({ groups: 200, p50: 100, p99: 198, worst: 200 })
})
