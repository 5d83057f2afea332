import { getEventListeners } from 'node:events'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { errorOf } from '../test/error-of.ts'

// Modules take their timers when they are loaded: a copy is loaded under fake ones, and not left to other files.
vi.useFakeTimers()
vi.resetModules()
const { abortedError, elapsedBy, systemTime, throwIfAborted } = await import('./time.ts')
vi.resetModules()
afterAll(() => void vi.useRealTimers())

describe('systemTime', () => {
  test('now is in milliseconds since 1970', () => {
    vi.setSystemTime(1235697046123)
    expect(systemTime.now()).toBe(1235697046123)
  })

  test('how long something takes does not depend on whether the clock is set', () => {
    const elapsed = elapsedBy({ ...systemTime, now: () => 0 })
    const from = elapsed()
    vi.setSystemTime(0)
    vi.advanceTimersByTime(250)
    vi.setSystemTime(9_000_000)
    expect(elapsed() - from).toBe(250)
  })

  test('a time without a clock for durations goes by its one clock', () => {
    let now = 5
    const elapsed = elapsedBy({ now: () => now, sleep: async () => undefined })
    now = 12
    expect(elapsed()).toBe(12)
  })

  test('sleep ends after its milliseconds, not before', async () => {
    const awake = vi.fn<() => void>()
    void systemTime.sleep(1000).then(awake)
    await vi.advanceTimersByTimeAsync(999)
    expect(awake).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(awake).toHaveBeenCalledOnce()
  })

  test('a signal ends it with ABORTED at once, and its timer with it', async () => {
    const controller = new AbortController()
    const sleep = systemTime.sleep(1000, controller.signal)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(sleep).rejects.toMatchObject({ code: 'ABORTED', cause: reason })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a signal that has fired already lets it not even begin', async () => {
    await expect(systemTime.sleep(1000, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('no listener is left on the signal of a sleep that is over', async () => {
    const { signal } = new AbortController()
    const sleep = systemTime.sleep(5, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5)
    await sleep
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

describe('throwIfAborted', () => {
  test('throws ABORTED once the signal has fired, with its reason as the cause', () => {
    const controller = new AbortController()
    expect(() => throwIfAborted(controller.signal)).not.toThrow()
    controller.abort('why')
    const error = errorOf(() => throwIfAborted(controller.signal))
    expect([error.code, error.cause, error.retryable]).toEqual(['ABORTED', 'why', false])
  })

  test('lets a call without a signal pass', () => {
    expect(() => throwIfAborted(undefined)).not.toThrow()
    expect(abortedError(undefined).code).toBe('ABORTED')
  })
})

test.each([2 ** 31, Infinity])(
  'a sleep of %d milliseconds is a long one, and no short one',
  async (milliseconds) => {
    const ends = new AbortController()
    let isOver = false
    const sleeping = systemTime.sleep(milliseconds, ends.signal).finally(() => (isOver = true))
    sleeping.catch(() => {})
    await vi.advanceTimersByTimeAsync(20)
    expect(isOver).toBe(false)
    ends.abort()
    await expect(sleeping).rejects.toMatchObject({ code: 'ABORTED' })
  },
)
