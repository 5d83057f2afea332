import { expect, test } from 'vitest'
import { createRateLimiter } from './rate-limiter.ts'

const rate = { atOnce: 3, pauseMs: 1000 }

test('a key may act several times at once, and then once after each pause', () => {
  let at = 50_000
  const limiter = createRateLimiter(() => at)
  const take = (): number => limiter.take([{ key: 'a', rate }])
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1000])
  at += 600
  expect(take()).toBe(400)
  at += 400
  expect([take(), take()]).toEqual([0, 1000])
  at += 60_000
  expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 1000])
})

test('keys have separate limits, and an act that one of two quotas refuses counts for neither', () => {
  const limiter = createRateLimiter(() => 0)
  const strict = { key: 'strict', rate: { atOnce: 1, pauseMs: 500 } }
  const loose = { key: 'loose', rate }
  expect(limiter.take([strict, loose])).toBe(0)
  for (let i = 0; i < 5; i++) expect(limiter.take([strict, loose])).toBe(500)
  expect(limiter.take([loose])).toBe(0)
  expect(limiter.take([loose])).toBe(0)
  expect(limiter.take([loose])).toBe(1000)
})

test('a clock that is set back does not extend the wait beyond that of an empty bucket', () => {
  let at = 1e12
  const limiter = createRateLimiter(() => at)
  for (let i = 0; i < 3; i++) limiter.take([{ key: 'a', rate }])
  at -= 3_600_000
  expect(limiter.take([{ key: 'a', rate }])).toBe(1000)
})

test('beyond the limit of keys, the least recently used one is forgotten', () => {
  const limiter = createRateLimiter(() => 0)
  const once = (key: string): number => limiter.take([{ key, rate: { atOnce: 1, pauseMs: 1000 } }])
  const busy = { key: 'busy', rate: { atOnce: 6, pauseMs: 1000 } }
  for (let i = 0; i < 50_000; i++) {
    if (i % 10_000 === 0) expect(limiter.take([busy])).toBe(0)
    expect(once(`${i}`)).toBe(0)
  }
  expect(once('0')).toBe(0)
  expect(once('49999')).toBe(1000)
  expect([limiter.take([busy]), limiter.take([busy])]).toEqual([0, 1000])
})
