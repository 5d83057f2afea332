import { expect, test } from 'vitest'
import {
  intervalOf,
  itemsPerWeek,
  POLITE,
  quietInterval,
  waitAfterFailure,
  waitAfterSuccess,
} from './schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const now = new Date('2026-06-01T12:00:00Z')
const ago = (ms: number): Date => new Date(now.getTime() - ms)
const middle = (): number => 0.5
const failed = { reason: 'It failed.' }

test('items per week are counted over four weeks, or over a shorter feed', () => {
  expect(itemsPerWeek([ago(DAY), ago(8 * DAY), ago(15 * DAY), ago(22 * DAY), ago(90 * DAY)], now)).toBe(1)
  expect(itemsPerWeek([ago(HOUR), ago(2 * DAY), undefined], now)).toBe(7)
  // A feed full of today's items is not taken for a year of silence.
  expect(
    itemsPerWeek(
      Array.from({ length: 24 }, (_, i) => ago((i + 1) * HOUR)),
      now,
    ),
  ).toBe(168)
  expect(itemsPerWeek([ago(90 * DAY)], now)).toBe(0)
  expect(itemsPerWeek([undefined], now)).toBeUndefined()
})

test('the interval is the time between two items, from five minutes to a day', () => {
  expect(intervalOf(undefined)).toBe(HOUR)
  expect(intervalOf(168)).toBe(HOUR)
  expect([intervalOf(100_000), intervalOf(1), intervalOf(0)]).toEqual([POLITE.min, POLITE.max, POLITE.max])
})

test('a feed that brings nothing new is fetched less and less, down to once a day', () => {
  let interval = HOUR
  for (let i = 0; i < 100; i++) interval = quietInterval(interval)
  expect(interval).toBe(POLITE.max)
})

test('max-age and ttl lengthen the wait, up to a day', () => {
  const none = { freshMs: 0, ttlMs: undefined }
  expect(waitAfterSuccess(HOUR, none, POLITE, middle)).toBe(HOUR)
  expect(waitAfterSuccess(HOUR, { ...none, freshMs: 2 * HOUR }, POLITE, middle)).toBe(2 * HOUR)
  expect(waitAfterSuccess(HOUR, { ...none, ttlMs: 3 * HOUR }, POLITE, middle)).toBe(3 * HOUR)
  expect(waitAfterSuccess(HOUR, { freshMs: MINUTE, ttlMs: MINUTE }, POLITE, middle)).toBe(HOUR)
  expect(waitAfterSuccess(HOUR, { ...none, freshMs: 365 * DAY }, POLITE, middle)).toBe(DAY)
})

test('chance moves a wait by up to a tenth', () => {
  const none = { freshMs: 0, ttlMs: undefined }
  expect([0, 1].map((value) => waitAfterSuccess(100 * MINUTE, none, POLITE, () => value))).toEqual([
    90 * MINUTE,
    110 * MINUTE,
  ])
})

test('the wait doubles with each failure in a row, up to a day', () => {
  const waits = [1, 2, 3, 4, 5, 6, 1000].map((failures) =>
    waitAfterFailure(failed, { intervalMs: HOUR, failures }, POLITE, middle),
  )
  expect(waits).toEqual([1, 2, 4, 8, 16, 24, 24].map((hours) => hours * HOUR))
})

test.each([403, 429])('a server that answers with status %i is left alone for an hour at least', (status) => {
  const wait = waitAfterFailure(
    { ...failed, status },
    { intervalMs: 5 * MINUTE, failures: 1 },
    POLITE,
    middle,
  )
  expect(wait).toBe(HOUR)
})

test('a wait that a server asks for is never shortened, and at most a week', () => {
  const after = (retryAfterMs: number): number | undefined =>
    waitAfterFailure(
      { ...failed, status: 429, retryAfterMs },
      { intervalMs: HOUR, failures: 1 },
      POLITE,
      () => 0,
    )
  expect([after(2 * DAY), after(1000), after(365 * DAY)]).toEqual([2 * DAY, 0.9 * HOUR, 7 * DAY])
})

test('only a feed that is gone for good is fetched no more', () => {
  const wait = (status: number): number | undefined =>
    waitAfterFailure({ ...failed, status }, { intervalMs: HOUR, failures: 1 }, POLITE, middle)
  expect([wait(410), wait(404), wait(500)]).toEqual([undefined, HOUR, HOUR])
})

test('bounds of a site shorten and lengthen all intervals', () => {
  const bounds = { min: 2_000, max: 2_000 }
  expect([intervalOf(undefined, bounds), intervalOf(0, bounds), quietInterval(HOUR, bounds)]).toEqual([
    2_000, 2_000, 2_000,
  ])
  expect(waitAfterSuccess(HOUR, { freshMs: DAY, ttlMs: undefined }, bounds, middle)).toBe(2_000)
  expect(waitAfterFailure(failed, { intervalMs: HOUR, failures: 9 }, bounds, middle)).toBe(2_000)
})
