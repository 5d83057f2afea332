import type { IntersectionPlan, QueryPlan } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { MAX_READ_ROWS } from '../../calls/lane-limits.ts'
import { joinsEntities } from './row-reader.ts'

/** A plan of a query with ranges on so many shards. */
const planOn = (...shards: readonly number[]): QueryPlan =>
  ({
    ranges: shards.map((length) => ({ shards: Array.from({ length }, (_, n) => n) })),
  }) as unknown as QueryPlan

test('rows come with their entities up to the rows of a read, and on up to two shards of each range', () => {
  expect([MAX_READ_ROWS, MAX_READ_ROWS + 1].map((rows) => joinsEntities(planOn(1), rows))).toEqual([
    true,
    false,
  ])
  expect([planOn(2), planOn(3), planOn(1, 3), planOn(3, 1)].map((plan) => joinsEntities(plan, 5))).toEqual([
    true,
    false,
    false,
    false,
  ])
})

test('rows of an intersection come without their entities', () => {
  expect(joinsEntities({ parts: [] } as unknown as IntersectionPlan, 5)).toBe(false)
})
