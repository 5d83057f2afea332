/**
 * Timers and clocks of the platform, taken once when this module is loaded. Fake timers that a test installs later
 * (`vi.useFakeTimers()`, `jest.useFakeTimers()`, `mock.timers` of Node) replace the globals, and neither stop a shard nor date
 * its versions. A test that wants to move a store's time gives the store a `time`. Every package takes its timers from here.
 */
export interface PlatformTime {
  readonly setTimeout: typeof globalThis.setTimeout
  readonly clearTimeout: typeof globalThis.clearTimeout
  readonly setInterval: typeof globalThis.setInterval
  readonly clearInterval: typeof globalThis.clearInterval
  readonly setImmediate: typeof globalThis.setImmediate
  /** Milliseconds since 1970, by a clock that may be set at any time. */
  readonly now: () => number
  /** Milliseconds that pass, by a clock that nobody sets: `performance.now()`. */
  readonly elapsed: () => number
  /** A signal that fires after this many milliseconds. It does not keep the process running. */
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
