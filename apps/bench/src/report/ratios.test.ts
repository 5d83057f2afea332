import { expect, test } from 'vitest'
import { ratioOf } from './ratios.ts'
import type { ResultRow } from './results.ts'

const row = (side: ResultRow['side'], rounds: number[], more: Partial<ResultRow> = {}): ResultRow => ({
  part: 'calls',
  scenario: 'get',
  side,
  callers: 64,
  processes: 1,
  shards: 2,
  entities: 100,
  indexes: 2,
  bag: null,
  networkMs: 0,
  rate: null,
  opsPerSecond: rounds[0] as number,
  p50Ms: 1,
  p99Ms: 1,
  maxMs: 1,
  clientCpuUs: 1,
  serverCpuUs: null,
  statementsPerOp: null,
  flushesPerOp: null,
  bytesPerEntity: null,
  spread: { opsPerSecond: [1, 1], p99Ms: [1, 1] },
  rounds,
  ...more,
})

test('ratios are taken round by round, between rows that were measured in turns', () => {
  const other = row('json', [10, 40])
  const rows = [row('looseleaf', [999, 999], { callers: 1 }), row('looseleaf', [20, 20]), other]
  expect(ratioOf(rows, other)).toEqual([2, 0.5])
})

test('a row has no ratio to itself, and none if the first side was not measured', () => {
  const first = row('looseleaf', [1])
  expect(ratioOf([first], first)).toBeUndefined()
  expect(ratioOf([], row('json', [1]))).toBeUndefined()
})
