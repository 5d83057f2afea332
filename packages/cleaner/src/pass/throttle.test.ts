import { expect, test } from 'vitest'
import { leapingTime } from '../../test/times.ts'
import { createThrottle } from './throttle.ts'

test('without a rate nothing ever waits', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, undefined)
  await throttle.take(1_000_000, undefined)
  expect(time.slept).toBe(0)
  expect(throttle.maxPage).toBe(Infinity)
})

test('rows are paid for by waiting, each of them once', async () => {
  const time = leapingTime()
  const throttle = createThrottle(time, 100)
  expect(throttle.maxPage).toBe(100)
  await throttle.take(50, undefined)
  expect(time.slept).toBe(500)
  await throttle.take(200, undefined)
  expect(time.slept).toBe(2_500)
  // Time that has passed anyhow pays for nothing but what is taken then.
  time.leap(10_000)
  await throttle.take(10, undefined)
  expect(time.slept).toBe(2_600)
})

test('of several who read at the same time each waits for all before it', async () => {
  const time = leapingTime()
  const throttle = createThrottle(
    { ...time, now: () => 0, sleep: (ms, signal) => time.sleep(ms, signal) },
    10,
  )
  await Promise.all([throttle.take(1, undefined), throttle.take(1, undefined)])
  expect(time.slept).toBe(100 + 200)
})

test('nothing is waited for when nothing was read', async () => {
  const time = leapingTime()
  let sleeps = 0
  const throttle = createThrottle({ ...time, sleep: async () => void sleeps++ }, 10)
  await throttle.take(0, undefined)
  expect(sleeps).toBe(0)
})

test('a page has one row at the least', () => {
  expect(createThrottle(leapingTime(), 0.5).maxPage).toBe(1)
  expect(createThrottle(leapingTime(), 2.9).maxPage).toBe(2)
})

test.each([0, -1, Number.NaN])('a rate of %s is refused', (rate) => {
  expect(() => createThrottle(leapingTime(), rate)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('a signal ends the wait', async () => {
  const throttle = createThrottle(leapingTime(), 1)
  await expect(throttle.take(1, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
})
