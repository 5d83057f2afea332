import { performance } from 'node:perf_hooks'
import { percentile } from './statistics.ts'

export interface RunOptions {
  /** Callers at once; each makes its next call when the one before was answered. */
  readonly callers: number
  readonly seconds: number
}

export interface Run {
  readonly calls: number
  readonly seconds: number
  /** Milliseconds that calls took. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly max: number }
}

/**
 * Keeps so many callers busy for so long. A call begins in a turn of the event loop of its own, as requests do that come over a
 * network, and its time counts from before that turn: whoever keeps the loop to itself makes the others wait, and it shows.
 * The last calls are waited for and counted. Rejects with the first error of a call, when all callers have stopped.
 */
export async function runCallers(call: () => Promise<void>, { callers, seconds }: RunOptions): Promise<Run> {
  const times: number[] = []
  const state = { failed: false }
  const begin = performance.now()
  const end = begin + seconds * 1000

  async function caller(): Promise<void> {
    for (let now = performance.now(); now < end && !state.failed;) {
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
  times.sort((a, b) => a - b)
  return {
    calls: times.length,
    seconds: elapsed / 1000,
    latency: { p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: times.at(-1) ?? 0 },
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
