import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type * as watches from './silence-watch.ts'

// Modules take their timers when they are loaded, so this copy has fake ones.
vi.useFakeTimers()
const { createSilenceWatch } = await importCopy<typeof watches>(new URL('silence-watch.ts', import.meta.url))
afterAll(() => void vi.useRealTimers())

let lastAnswer: number
let askCount: number
let answer: () => void
let watch: watches.SilenceWatch

beforeEach(() => {
  lastAnswer = Number.NEGATIVE_INFINITY
  askCount = 0
  watch = createSilenceWatch({
    lastAnswer: () => lastAnswer,
    ask() {
      askCount++
      return new Promise((resolve) => (answer = resolve))
    },
  })
})
afterEach(() => watch.stop())

const pass = (milliseconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds)

test('a server is askCount once after calls have waited for a second, and again after that has ended', async () => {
  watch.begin()
  watch.begin()
  await pass(900)
  expect(askCount).toBe(0)
  await pass(5_000)
  expect(askCount).toBe(1)
  answer()
  await pass(300)
  expect(askCount).toBe(2)
})

test('a server that answers any call is not askCount', async () => {
  watch.begin()
  for (let i = 0; i < 20; i++) {
    await pass(500)
    lastAnswer = performance.now()
  }
  expect(askCount).toBe(0)
})

test('a silent server without waiting calls is not askCount, and no timer keeps running', async () => {
  lastAnswer = performance.now()
  await pass(60_000)
  watch.begin()
  await pass(500)
  watch.end()
  await pass(60_000)
  expect(askCount).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
  watch.begin()
  await pass(900)
  expect(askCount).toBe(0)
  await pass(400)
  expect(askCount).toBe(1)
})
