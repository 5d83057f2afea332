/**
 * Timers and clocks of the platform, taken once when this module is loaded. Every package takes its timers from here.
 *
 * Fake timers that a test installs later (`vi.useFakeTimers()`, `jest.useFakeTimers()`, `mock.timers` of Node) replace the
 * globals, so they neither stop a shard nor affect versions. A test that moves a store's time passes a `time` to the store.
 */
export interface PlatformTime {
  readonly setTimeout: typeof globalThis.setTimeout
  readonly clearTimeout: typeof globalThis.clearTimeout
  readonly setInterval: typeof globalThis.setInterval
  readonly clearInterval: typeof globalThis.clearInterval
  readonly setImmediate: typeof globalThis.setImmediate
  /** Milliseconds since 1970, by a clock that may be set at any time. */
  readonly now: () => number
  /** Milliseconds by the monotonic clock, `performance.now()`. */
  readonly elapsed: () => number
  /** Returns a signal that fires after this many milliseconds. It does not keep the process alive. */
  readonly abortAfter: (milliseconds: number) => AbortSignal
}

export const platformTime: PlatformTime = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  now: Date.now,
  elapsed: performance.now.bind(performance),
  abortAfter: AbortSignal.timeout.bind(AbortSignal),
}
