import { expect, test } from 'vitest'
import { createWaits } from './waits.ts'

const NONE = { throttledBy: undefined, waited: 0 }

test('the main reason for waits has the greatest sum', () => {
  let now = 0
  const waits = createWaits(() => now)
  waits.add('calls', 250)
  expect(waits.recent()).toEqual(NONE)
  now = 1_000
  waits.add('latency', 200)
  waits.add('latency', 100)
  waits.add('lock waits', 0)
  expect(waits.recent()).toEqual({ throttledBy: 'latency', waited: 0.3 })
  waits.add('calls', 5_000)
  expect(waits.recent()).toEqual({ throttledBy: 'calls', waited: 1 })
})

test('a sum of waits below a hundredth of the time is no reason', () => {
  let now = 0
  const waits = createWaits(() => now)
  waits.add('latency', 9.9)
  now = 1_000
  expect(waits.recent()).toEqual(NONE)
  waits.add('latency', 0.1)
  expect(waits.recent()).toEqual({ throttledBy: 'latency', waited: 0.01 })
})

test('old waits are forgotten after half a minute', () => {
  let now = 0
  const waits = createWaits(() => now)
  now = 10_000
  waits.add('latency', 6_000)
  now = 39_999
  expect(waits.recent()).toEqual({ throttledBy: 'latency', waited: 0.2 })
  now = 40_000
  expect(waits.recent()).toEqual(NONE)
})
