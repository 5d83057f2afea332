import { expect, test } from 'vitest'
import { createLatencies, LATENCY_SECONDS, type Latencies } from './latencies.ts'

let now = 0
function measured(): Latencies {
  now = 1_000_000
  return createLatencies(() => now)
}

function end(
  latencies: Latencies,
  durationMs: number,
  name = 'get',
  failure?: 'NOT_FOUND' | 'DEADLINE',
): void {
  latencies.callEnded({ name, index: undefined, startedAt: 0, durationMs, failure })
}

test('the start of the measurement does not depend on calls', () => {
  const latencies = measured()
  expect(latencies.since).toBe(1000)
  now += 5000
  end(latencies, 1)
  expect(latencies.since).toBe(1000)
})

test('quantiles are accurate within 5 %, and the slowest call is exact', () => {
  const latencies = measured()
  for (let i = 1; i <= 1000; i++) end(latencies, i / 10)
  const [second] = latencies.seconds()
  expect(second).toMatchObject({ second: 1000, calls: 1000, maxMs: 100 })
  expect(Math.abs((second?.p50Ms ?? 0) / 50 - 1)).toBeLessThan(0.05)
  expect(Math.abs((second?.p99Ms ?? 0) / 99 - 1)).toBeLessThan(0.05)
})

test('very short and very long calls are counted, and no quantile exceeds the slowest call', () => {
  const latencies = measured()
  end(latencies, 0)
  expect(latencies.seconds()).toMatchObject([{ calls: 1, p99Ms: 0, maxMs: 0 }])
  end(latencies, 3_600_000)
  expect(latencies.seconds()).toMatchObject([{ calls: 2, maxMs: 3_600_000 }])
})

test('old seconds are forgotten, and their slots are reused', () => {
  const latencies = measured()
  end(latencies, 500, 'get', 'DEADLINE')
  end(latencies, 500, 'update', 'NOT_FOUND')
  expect(latencies.between(1000, 1001)?.failures).toEqual(new Map([['DEADLINE', 1]]))
  now += (LATENCY_SECONDS - 1) * 1000
  end(latencies, 1)
  expect(latencies.seconds().map(({ second }) => second)).toEqual([1000, 1299])
  now += 1000
  end(latencies, 2)
  expect(latencies.seconds().map(({ second, maxMs }) => [second, maxMs])).toEqual([
    [1299, 1],
    [1300, 2],
  ])
  expect(latencies.between(1000, 1301)?.failures).toEqual(new Map())
  now += 10 * LATENCY_SECONDS * 1000
  expect(latencies.seconds()).toEqual([])
})

test('a span of seconds sums up all its calls', () => {
  const latencies = measured()
  for (let i = 0; i < 99; i++) end(latencies, 1)
  now += 1000
  end(latencies, 100)
  expect(latencies.between(1000, 1001)).toMatchObject({ calls: 99, maxMs: 1 })
  expect(latencies.between(1000, 1002)).toMatchObject({ calls: 100, maxMs: 100 })
  expect(latencies.between(1000, 1002)?.p99Ms).toBeLessThan(1.05)
  expect(latencies.between(1002, 1003)).toBeUndefined()
})

test('calls about the store itself are left out', () => {
  const latencies = measured()
  for (const name of ['indexes', 'addIndex', 'dropIndex', 'status', 'scan', 'scanDamaged'])
    end(latencies, 9, name)
  expect(latencies.seconds()).toEqual([])
})
