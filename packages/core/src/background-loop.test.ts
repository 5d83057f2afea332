import { abortedError, type Time } from './time.ts'
import { expect, test } from 'vitest'
import { backgroundLoop } from './background-loop.ts'

/** What a loop does with these rounds, after which it is stopped; an Error is a round that fails. */
async function run(...rounds: (number | Error)[]): Promise<{ slept: number[]; told: unknown[] }> {
  const controller = new AbortController()
  const { signal } = controller
  const slept: number[] = []
  const told: unknown[] = []
  const time: Time = {
    now: () => 0,
    async sleep(milliseconds, given) {
      expect(given).toBe(signal)
      slept.push(milliseconds)
      if (rounds.length > 0) return
      controller.abort()
      throw abortedError(signal)
    },
  }
  await backgroundLoop({
    time,
    signal,
    onError: (error) => told.push(error),
    async round() {
      const next = rounds.shift()!
      if (typeof next === 'number') return next
      throw next
    },
  })
  return { slept, told }
}

test('waits as long as a round says', async () => {
  expect(await run(5, 0, 70)).toEqual({ slept: [5, 0, 70], told: [] })
})

test('tells of a round that fails, and tries it again ever later, up to ten seconds', async () => {
  const failures = Array.from({ length: 7 }, () => new Error('no'))
  expect(await run(...failures)).toEqual({
    slept: [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
    told: failures,
  })
})

test('begins anew to count failures when a round has gone well', async () => {
  const failure = new Error('no')
  const { slept } = await run(failure, failure, 3, failure)
  expect(slept).toEqual([500, 1_000, 3, 500])
})

test('does nothing once the signal has fired, and tells no error of a round that it ended', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const told: unknown[] = []
  let rounds = 0
  const options = {
    time: { now: () => 0, sleep: () => Promise.reject(new Error('No sleep is expected.')) },
    signal,
    onError: (error: unknown) => told.push(error),
    async round() {
      rounds++
      controller.abort()
      throw abortedError(signal)
    },
  }
  await backgroundLoop(options)
  await backgroundLoop(options)
  expect([rounds, told]).toEqual([1, []])
})
