import { abortedError, type Time } from './time.ts'
import { expect, test } from 'vitest'
import { backgroundLoop } from './background-loop.ts'

/** Runs a loop for these rounds, in which an Error fails. Returns its pauses and reported errors. */
async function run(...rounds: (number | Error)[]): Promise<{ pauses: number[]; reported: unknown[] }> {
  const controller = new AbortController()
  const { signal } = controller
  const pauses: number[] = []
  const reported: unknown[] = []
  const time: Time = {
    now: () => 0,
    async sleep(milliseconds, passed) {
      expect(passed).toBe(signal)
      pauses.push(milliseconds)
      if (rounds.length > 0) return
      controller.abort()
      throw abortedError(signal)
    },
  }
  await backgroundLoop({
    time,
    signal,
    onError: (error) => reported.push(error),
    async round() {
      const next = rounds.shift()!
      if (typeof next === 'number') return next
      throw next
    },
  })
  return { pauses, reported }
}

test('a loop pauses for as long as its round returns', async () => {
  expect(await run(5, 0, 70)).toEqual({ pauses: [5, 0, 70], reported: [] })
})

test('a failed round is reported and retried after growing pauses, up to ten seconds', async () => {
  const failures = Array.from({ length: 7 }, () => new Error('no'))
  expect(await run(...failures)).toEqual({
    pauses: [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
    reported: failures,
  })
})

test('a successful round resets the pauses after failures', async () => {
  const failure = new Error('no')
  const { pauses } = await run(failure, failure, 3, failure)
  expect(pauses).toEqual([500, 1_000, 3, 500])
})

test('a loop ends with its signal, and does not report the error of the aborted round', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const reported: unknown[] = []
  let rounds = 0
  const options = {
    time: { now: () => 0, sleep: () => Promise.reject(new Error('No sleep is expected.')) },
    signal,
    onError: (error: unknown) => reported.push(error),
    async round() {
      rounds++
      controller.abort()
      throw abortedError(signal)
    },
  }
  await backgroundLoop(options)
  await backgroundLoop(options)
  expect([rounds, reported]).toEqual([1, []])
})

test('a loop continues after an error of onError', async () => {
  const controller = new AbortController()
  let rounds = 0
  await backgroundLoop({
    time: { now: () => 0, sleep: async () => {} },
    signal: controller.signal,
    onError() {
      throw new Error('a fault of the caller')
    },
    async round() {
      if (++rounds === 3) controller.abort()
      throw new Error('no')
    },
  })
  expect(rounds).toBe(3)
})
