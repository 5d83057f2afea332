import { performance } from 'node:perf_hooks'

export interface Run {
  readonly calls: number
  readonly seconds: number
  /** Milliseconds that each call took. */
  readonly times: Float32Array
  /** When each was due, in milliseconds since 1970; of calls at a rate alone. */
  readonly due?: Float64Array
}

export interface RunOptions {
  /** Callers at once; each makes its next call when the one before was answered. */
  readonly callers: number
  readonly seconds: number
  /** No more calls than this. */
  readonly most?: number
}

/**
 * Keeps so many callers busy for so long. A call begins in a turn of the event loop of its own, as requests do that come over a
 * network, and its time counts from before that turn: whoever keeps the loop to itself makes the others wait, and it shows.
 * The last calls are waited for and counted. Rejects with the first error of a call, when all callers have stopped.
 */
export async function runCallers(
  call: () => Promise<void>,
  { callers, seconds, most = Infinity }: RunOptions,
): Promise<Run> {
  const times: number[] = []
  const state = { failed: false, begun: 0 }
  const begin = performance.now()
  const end = begin + seconds * 1000

  async function caller(): Promise<void> {
    for (let now = performance.now(); now < end && !state.failed && state.begun < most;) {
      state.begun++
      const started = now
      await nextTurn()
      await call()
      now = performance.now()
      times.push(now - started)
    }
  }

  const results = await Promise.allSettled(
    Array.from({ length: callers }, async () => {
      try {
        await caller()
      } catch (error) {
        state.failed = true
        throw error
      }
    }),
  )
  const elapsed = performance.now() - begin
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return { calls: times.length, seconds: elapsed / 1000, times: Float32Array.from(times) }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
