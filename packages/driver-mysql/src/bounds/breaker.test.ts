import type { LooseleafError } from '@looseleaf/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBreaker, type Breaker } from './breaker.ts'

// The modules below take their timers when they are loaded.
vi.hoisted(() => void vi.useFakeTimers())

let serverIsThere: boolean
let probes: number
let closings: number
let refused: LooseleafError[]
let breaker: Breaker

beforeEach(() => {
  serverIsThere = false
  probes = 0
  refused = []
  closings = 0
  breaker = createBreaker({
    name: 'h:1/d',
    failures: 3,
    probeMs: 1_000,
    async probe() {
      probes++
      if (!serverIsThere) throw new Error('down')
    },
    onOpen: (refusal) => refused.push(refusal),
    onClose: () => closings++,
  })
})

afterEach(() => breaker.stop())

/** Calls that begin now and fail a millisecond later. */
async function fail(times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    await vi.advanceTimersByTimeAsync(1)
    breaker.failed(began)
  }
  await vi.advanceTimersByTimeAsync(0)
}

test('calls pass until the last of so many failures in a row', async () => {
  await fail(2)
  expect(breaker.refusal).toBeUndefined()
  await fail(1)
  expect(breaker.refusal).toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    retryable: true,
    unknownOutcome: false,
    shard: 'h:1/d',
    message: expect.stringMatching(/^h:1\/d: .* 3 times in a row; calls are refused until it answers again/),
  })
  expect(refused).toHaveLength(1)
})

test('it is told once that calls may pass again, and not where its owner is gone', async () => {
  await fail(3)
  await vi.advanceTimersByTimeAsync(1_000)
  expect([probes, refused.length, closings]).toEqual([1, 2, 0])
  serverIsThere = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect([probes, closings]).toEqual([2, 1])
  await fail(3)
  breaker.stop()
  await vi.advanceTimersByTimeAsync(5_000)
  expect([probes, closings]).toEqual([2, 1])
})

test('an answer between failures begins the count anew', async () => {
  for (let i = 0; i < 5; i++) {
    await fail(2)
    breaker.answered()
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(breaker.refusal).toBeUndefined()
})

test('a call that began before the last answer does not count when it fails', async () => {
  const began = performance.now()
  await vi.advanceTimersByTimeAsync(1)
  breaker.answered()
  for (let i = 0; i < 5; i++) breaker.failed(began)
  await vi.advanceTimersByTimeAsync(0)
  expect(breaker.refusal).toBeUndefined()
})

test('one probe at a time goes out, each a while after the last has failed', async () => {
  await fail(3)
  await vi.advanceTimersByTimeAsync(999)
  expect(probes).toBe(0)
  await vi.advanceTimersByTimeAsync(4_001)
  expect(probes).toBe(5)
  expect(breaker.refusal).toBeDefined()
})

test('the first probe that is answered lets calls pass, and failures of before do not count', async () => {
  const began = performance.now()
  await fail(3)
  serverIsThere = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(breaker.refusal).toBeUndefined()
  for (let i = 0; i < 5; i++) breaker.failed(began)
  await vi.advanceTimersByTimeAsync(0)
  expect(breaker.refusal).toBeUndefined()
  await fail(3)
  expect(breaker.refusal).toBeDefined()
})

test('a clock that is set back does not keep the shard closed', async () => {
  await fail(3)
  vi.setSystemTime(Date.now() - 3_600_000)
  serverIsThere = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(breaker.refusal).toBeUndefined()
})

test('after stop nothing is probed any more', async () => {
  await fail(3)
  breaker.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(probes).toBe(0)
})

test('one connection that gets not a word opens it at once, and says so, unless others were answered meanwhile', async () => {
  const early = performance.now()
  await vi.advanceTimersByTimeAsync(10)
  breaker.answered()
  await vi.advanceTimersByTimeAsync(10)
  breaker.silent(early)
  await vi.advanceTimersByTimeAsync(0)
  expect(breaker.refusal).toBeUndefined()

  breaker.silent(performance.now())
  await vi.advanceTimersByTimeAsync(0)
  expect(breaker.refusal?.message).toMatch(
    /^h:1\/d: the server does not respond; calls are refused until it answers again/,
  )
  serverIsThere = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(breaker.refusal).toBeUndefined()
  // It counts anew after that.
  await fail(2)
  expect(breaker.refusal).toBeUndefined()
  await fail(1)
  expect(breaker.refusal?.message).toMatch(/3 times in a row/)
})
