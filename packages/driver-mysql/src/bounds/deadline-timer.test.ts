import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type * as timers from './deadline-timer.ts'

// Modules take their timers when they are loaded, so this copy has fake ones.
vi.useFakeTimers()
const { createDeadlineTimer } = await importCopy<typeof timers>(new URL('deadline-timer.ts', import.meta.url))
afterAll(() => void vi.useRealTimers())

let timer: timers.DeadlineTimer
let start: number

beforeEach(() => {
  start = performance.now()
  timer = createDeadlineTimer()
})

afterEach(() => {
  timer.stop()
  if (vi.getTimerCount() !== 0) throw new Error('A timer was left behind.')
})

/** Resolves with how a wait ended, and when, in whole milliseconds from the start of the test. */
async function wait(milliseconds: number, answerMs = Infinity): Promise<[number, unknown]> {
  const outcome = await timer
    .wait<string>(milliseconds, (done) => {
      if (answerMs !== Infinity) setTimeout(() => done(null, 'answered'), answerMs)
    })
    .catch((error: { code: string }) => error.code)
  return [Math.round(performance.now() - start), outcome]
}

const LATE = 'CALL_DEADLINE'

test('a wait without an answer ends at its deadline', async () => {
  const ended = wait(1_000)
  await vi.advanceTimersByTimeAsync(5_000)
  // One tick later, so that an answer that has already arrived counts.
  expect(await ended).toEqual([1_001, LATE])
})

test('each of several consecutive waits has its own deadline', async () => {
  const ended = (async () => [
    await wait(1_000, 900),
    await wait(1_000, 900),
    await wait(100),
    await wait(3_000, 10),
    await wait(500),
  ])()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(await ended).toEqual([
    [900, 'answered'],
    [1_800, 'answered'],
    [1_901, LATE],
    [1_911, 'answered'],
    [2_412, LATE],
  ])
})

test('an answer in the turn of the deadline resolves the wait', async () => {
  const ended = wait(1_000, 1_000)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await ended).toEqual([1_000, 'answered'])
})

test('two concurrent waits end each at its own deadline', async () => {
  const both = Promise.all([wait(1_000), wait(500), wait(2_000, 1_500)])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await both).toEqual([
    [1_001, LATE],
    [501, LATE],
    [1_500, 'answered'],
  ])
})

test('a wait in flight at stop still ends', async () => {
  const ended = wait(1_000)
  timer.stop()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await ended).toEqual([1_001, LATE])
})

test('a wait that cannot begin rejects at once', async () => {
  const failed = timer.wait(1_000, () => {
    throw new Error('not begun')
  })
  await expect(failed).rejects.toThrow('not begun')
})
