import type { LooseleafError } from '@looseleaf/core'
import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type * as breakers from './breaker.ts'

// Modules take their timers when they are loaded, so this copy has fake ones.
vi.useFakeTimers()
const { createBreaker } = await importCopy<typeof breakers>(new URL('breaker.ts', import.meta.url))
afterAll(() => void vi.useRealTimers())

let serverIsThere: boolean
let probes: number
let closings: number
let refused: LooseleafError[]
let breaker: breakers.Breaker

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

/** Makes calls that begin now and fail a millisecond later. */
async function fail(times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    await vi.advanceTimersByTimeAsync(1)
    breaker.failed(began)
  }
  await vi.advanceTimersByTimeAsync(0)
}

test('calls pass until the configured number of consecutive failures', async () => {
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

test('onClose is called once, and not after stop', async () => {
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

test('an answer resets the count of failures', async () => {
  for (let i = 0; i < 5; i++) {
    await fail(2)
    breaker.answered()
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(breaker.refusal).toBeUndefined()
})

test('a failure of a call that began before the last answer does not count', async () => {
  const began = performance.now()
  await vi.advanceTimersByTimeAsync(1)
  breaker.answered()
  for (let i = 0; i < 5; i++) breaker.failed(began)
  await vi.advanceTimersByTimeAsync(0)
  expect(breaker.refusal).toBeUndefined()
})

test('one probe runs at a time, each a pause after the last has failed', async () => {
  await fail(3)
  await vi.advanceTimersByTimeAsync(999)
  expect(probes).toBe(0)
  await vi.advanceTimersByTimeAsync(4_001)
  expect(probes).toBe(5)
  expect(breaker.refusal).toBeDefined()
})

test('the first answered probe closes the breaker and resets the count of failures', async () => {
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

test('a clock that is set back does not keep the breaker open', async () => {
  await fail(3)
  vi.setSystemTime(Date.now() - 3_600_000)
  serverIsThere = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(breaker.refusal).toBeUndefined()
})

test('no probe runs after stop', async () => {
  await fail(3)
  breaker.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(probes).toBe(0)
})

test('a silent connection opens the breaker at once, with its own message, unless another one was answered since', async () => {
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
  // The count starts again after that.
  await fail(2)
  expect(breaker.refusal).toBeUndefined()
  await fail(1)
  expect(breaker.refusal?.message).toMatch(/3 times in a row/)
})

test('the error of a rejected call tells which other shards answer now', async () => {
  breaker.stop()
  let others = 'All others answer.'
  breaker = createBreaker({
    name: 'h:1/d',
    failures: 1,
    probeMs: 1_000,
    describeOthers: () => others,
    probe: () => Promise.reject(new Error('down')),
    onOpen: () => {},
    onClose: () => {},
  })
  expect(breaker.isRefusing).toBe(false)
  await fail(1)
  expect(breaker.isRefusing).toBe(true)
  expect(breaker.refusal?.message).toMatch(/The call was not sent\. All others answer\.$/)
  others = ''
  expect(breaker.refusal?.message).toMatch(/The call was not sent\.$/)
})
