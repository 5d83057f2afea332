import { expect, test } from 'vitest'
import { freshRecord } from './move-record.ts'
import { progressOf } from './work-on-move.ts'

test('steps, tables, groups and tens of thousands of entities are progress, and some entities are none', () => {
  const record = freshRecord({ from: 0, buckets: '1' })
  const withEntities = (entities: number): number =>
    progressOf({ ...record, counts: { ...record.counts, entities } })
  expect(progressOf(undefined)).toBe(0)
  expect(progressOf(record)).toBe(0)
  expect([9_999, 10_000, 29_999].map(withEntities)).toEqual([0, 1, 2])
  expect(progressOf({ ...record, step: 'sealing', tables: ['a', 'b'], seals: [1, 2, 3] })).toBe(7)
})
