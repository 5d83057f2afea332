import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { checkedPlan, type PlannedMove } from './checked-plan.ts'

/** A store of 100 buckets and four shards. */
function contextOf(removed?: ReadonlySet<number>): EngineContext {
  return {
    router: {
      fingerprint: 'buckets-1 100',
      buckets: { scheme: 'buckets-1', shards: Array.from({ length: 100 }, () => 0) },
    },
    driver: { shards: [{}, {}, {}, {}], removed },
  } as unknown as EngineContext
}

const check = (plan: unknown, removed?: ReadonlySet<number>): PlannedMove =>
  checkedPlan(contextOf(removed), plan as PlannedMove)

test('a plan has its buckets in order, and nothing besides', () => {
  const plan = { from: 0, to: 1, buckets: '7,8-9,99', entities: 5 }
  expect(check(plan)).toEqual({ from: 0, to: 1, buckets: '7-9,99' })
  expect(check({ ...plan, from: 3 }, new Set([2]))).toEqual({ from: 3, to: 1, buckets: '7-9,99' })
})

test.each([
  ['7-100', '"7-100"'],
  ['100', '"100"'],
  ['7,100', '"7,100"'],
  ['9,7', '"9,7"'],
  ['', '""'],
  [`${'1,'.repeat(30)}x`, `"${'1,'.repeat(20)}"`],
  [7, '7'],
  [null, 'null'],
])('a plan has ranges of buckets that the store has, and not %j', (buckets, received) => {
  expect(() => check({ from: 0, to: 1, buckets })).toThrow(
    expect.objectContaining({
      code: 'BAD_OPTION',
      message: `This move is not possible: buckets are ascending ranges below 100, such as 0-76,97; got ${received}.`,
    }),
  )
})

test.each([
  [0, 0, '0 and 0'],
  [0, 4, '0 and 4'],
  [4, 0, '4 and 0'],
  [-1, 0, '-1 and 0'],
  [0, 0.5, '0 and 0.5'],
  ['length', 0, 'a string of 6 characters and 0'],
  [0, 2, '0 and 2'],
  [2, 0, '2 and 0'],
])('a plan has two shards that the store has, and not %j and %j', (from, to, received) => {
  expect(() => check({ from, to, buckets: '7' }, new Set([2]))).toThrow(
    expect.objectContaining({
      code: 'BAD_OPTION',
      message: `This move is not possible: from and to are the numbers of two shards, below 4, that were not removed; got ${received}.`,
    }),
  )
})

test('a plan that lacks a property is refused with the name of one that is unknown', () => {
  expect(() => check({ from: 0, target: 1, buckets: '7' })).toThrow(/A move.*target/)
  expect(() => check(undefined)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})
