import { expect, test } from 'vitest'
import { createLatencyGauge } from './latency-gauge.ts'

function gaugeOf(): { record(...milliseconds: number[]): number; pass(milliseconds: number): void } {
  let now = 0
  const gauge = createLatencyGauge(() => now)
  return {
    record: (...latencies) => latencies.map((latency) => gauge.record('page', latency)).at(-1) ?? 0,
    pass: (milliseconds) => void (now += milliseconds),
  }
}

test('a latency below twice the idle one causes no pause, and neither do one or two slow answers', () => {
  const gauge = gaugeOf()
  expect(gauge.record(10, 10, 10, 10, 10, 20, 20, 20, 20, 20)).toBe(0)
  expect(gauge.record(9_000, 9_000)).toBe(0)
  expect(gauge.record(9_000)).toBeGreaterThan(0)
})

test('the pause grows with the latency, up to nine times the latency and one second', () => {
  const gauge = gaugeOf()
  gauge.record(10, 10, 10, 10, 10)
  expect(gauge.record(30, 30, 30)).toBeCloseTo(15)
  expect(gauge.record(80, 80, 80)).toBeCloseTo(240)
  expect(gauge.record(5_000, 5_000, 5_000)).toBe(1_000)
})

test('latencies below a few milliseconds cause no pause', () => {
  const gauge = gaugeOf()
  expect(gauge.record(0.1, 0.1, 0.1, 0.1, 0.1, 4.9, 4.9, 4.9)).toBe(0)
  expect(gauge.record(10, 10, 10)).toBeCloseTo(10)
})

test('the latency of a shard that stays slow becomes its idle latency', () => {
  const gauge = gaugeOf()
  gauge.record(10, 10, 10, 10, 10)
  expect(gauge.record(40, 40, 40)).toBeGreaterThan(0)
  gauge.pass(2 * 600_000)
  expect(gauge.record(40)).toBe(0)
})

test('there is no pause before the fifth answer', () => {
  expect(gaugeOf().record(1, 1, 900, 900)).toBe(0)
})
