import { getEventListeners } from 'node:events'
import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { errorOf } from '../../test/error-of.ts'
import type * as time from './time.ts'

// Modules take their timers when they are loaded, so this copy has fake ones.
vi.useFakeTimers()
const { abortedError, elapsedBy, systemTime, throwIfAborted } = await importCopy<typeof time>(
  new URL('time.ts', import.meta.url),
)
afterAll(() => void vi.useRealTimers())

describe('systemTime', () => {
  test('systemTime.now is in milliseconds since 1970', () => {
    vi.setSystemTime(1235697046123)
    expect(systemTime.now()).toBe(1235697046123)
  })

  test('elapsed time does not depend on the clock being set', () => {
    const elapsed = elapsedBy({ ...systemTime, now: () => 0 })
    const from = elapsed()
    vi.setSystemTime(0)
    vi.advanceTimersByTime(250)
    vi.setSystemTime(9_000_000)
    expect(elapsed() - from).toBe(250)
  })

  test('a time without a clock for durations measures them by its only clock', () => {
    let now = 5
    const elapsed = elapsedBy({ now: () => now, sleep: async () => undefined })
    now = 12
    expect(elapsed()).toBe(12)
  })

  test('a sleep does not end before its milliseconds', async () => {
    const awake = vi.fn<() => void>()
    void systemTime.sleep(1000).then(awake)
    await vi.advanceTimersByTimeAsync(999)
    expect(awake).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(awake).toHaveBeenCalledOnce()
  })

  test('a signal ends a sleep with ABORTED at once, and clears its timer', async () => {
    const controller = new AbortController()
    const sleep = systemTime.sleep(1000, controller.signal)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(sleep).rejects.toMatchObject({ code: 'ABORTED', cause: reason })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a sleep whose signal fired before does not begin', async () => {
    await expect(systemTime.sleep(1000, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a sleep removes its listener from the signal', async () => {
    const { signal } = new AbortController()
    const sleep = systemTime.sleep(5, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5)
    await sleep
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('throwIfAborted', () => {
  test('throwIfAborted throws ABORTED after the signal fired, with its reason as the cause', () => {
    const controller = new AbortController()
    expect(() => throwIfAborted(controller.signal)).not.toThrow()
    controller.abort('why')
    const error = errorOf(() => throwIfAborted(controller.signal))
    expect([error.code, error.cause, error.retryable]).toEqual(['ABORTED', 'why', false])
  })

  test('throwIfAborted ignores an undefined signal', () => {
    expect(() => throwIfAborted(undefined)).not.toThrow()
    expect(abortedError(undefined).code).toBe('ABORTED')
  })
})

test.each([2 ** 31, Infinity])('a sleep of %d milliseconds does not end at once', async (milliseconds) => {
  const ends = new AbortController()
  let isOver = false
  const sleeping = systemTime.sleep(milliseconds, ends.signal).finally(() => (isOver = true))
  sleeping.catch(() => {})
  await vi.advanceTimersByTimeAsync(20)
  expect(isOver).toBe(false)
  ends.abort()
  await expect(sleeping).rejects.toMatchObject({ code: 'ABORTED' })
})
