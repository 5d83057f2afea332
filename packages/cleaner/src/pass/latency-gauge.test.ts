import { expect, test } from 'vitest'
import { createLatencyGauge } from './latency-gauge.ts'

function gaugeOf(): { took(...milliseconds: number[]): number; pass(milliseconds: number): void } {
  let now = 0
  const gauge = createLatencyGauge(() => now)
  return {
    took: (...milliseconds) => milliseconds.map((each) => gauge.took('page', each)).at(-1) ?? 0,
    pass: (milliseconds) => void (now += milliseconds),
  }
}

test('less than twice as slow is no reason to rest, nor is one slow answer or two', () => {
  const gauge = gaugeOf()
  expect(gauge.took(10, 10, 10, 10, 10, 20, 20, 20, 20, 20)).toBe(0)
  expect(gauge.took(9_000, 9_000)).toBe(0)
  expect(gauge.took(9_000)).toBeGreaterThan(0)
})

test('the rest grows with the latency, up to nine times as much and a second', () => {
  const gauge = gaugeOf()
  gauge.took(10, 10, 10, 10, 10)
  expect(gauge.took(30, 30, 30)).toBeCloseTo(15)
  expect(gauge.took(80, 80, 80)).toBeCloseTo(240)
  expect(gauge.took(5_000, 5_000, 5_000)).toBe(1_000)
})

test('what is fast anyhow is not compared', () => {
  const gauge = gaugeOf()
  expect(gauge.took(0.1, 0.1, 0.1, 0.1, 0.1, 4.9, 4.9, 4.9)).toBe(0)
  expect(gauge.took(10, 10, 10)).toBeCloseTo(10)
})

test('a shard that stays slow is taken for one that is', () => {
  const gauge = gaugeOf()
  gauge.took(10, 10, 10, 10, 10)
  expect(gauge.took(40, 40, 40)).toBeGreaterThan(0)
  gauge.pass(2 * 600_000)
  expect(gauge.took(40)).toBe(0)
})

test('nothing is said before five answers', () => {
  expect(gaugeOf().took(1, 1, 900, 900)).toBe(0)
})
