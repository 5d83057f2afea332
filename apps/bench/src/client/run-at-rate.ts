import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from './run-callers.ts'

export interface RateOptions {
  /** Calls a second. */
  readonly rate: number
  readonly seconds: number
  /** Seconds of calls at the same rate before the counted ones. Default: 0. */
  readonly runIn?: number
  /** Called when the first counted call begins. */
  readonly onCounting?: () => void
  /** Largest number of calls in flight. A call beyond it waits, and this wait is part of its time. */
  readonly maxInFlight: number
  /** Ends the run early. */
  readonly signal?: AbortSignal
}

/**
 * Starts calls at a fixed rate, whether earlier calls were answered or not. A call's time counts from when it was due, so a side that
 * falls behind has longer times, as its users would see. Rejects with the first error of a call.
 */
export async function runAtRate(
  call: () => Promise<void>,
  { rate, seconds, runIn = 0, onCounting, maxInFlight, signal }: RateOptions,
): Promise<Run> {
  const times: number[] = []
  const dues: number[] = []
  const running = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  const first = Math.round(rate * runIn)
  const start = performance.now()

  async function measureCall(due: number, counts: boolean): Promise<void> {
    try {
      await call()
    } catch (error) {
      failure ??= { error }
    }
    if (!counts) return
    times.push(performance.now() - due)
    dues.push(performance.timeOrigin + due)
  }

  for (
    let number = 0;
    number < first + rate * seconds && failure === undefined && signal?.aborted !== true;
    number++
  ) {
    const due = start + (number * 1000) / rate
    // A timer has a resolution of a millisecond and may fire early. A call that starts before it is due would seem too short.
    for (let early = due - performance.now(); early > 0; early = due - performance.now())
      await sleep(Math.ceil(early))
    while (running.size >= maxInFlight) await Promise.race(running)
    if (number === first) onCounting?.()
    const promise = measureCall(due, number >= first).finally(() => running.delete(promise))
    running.add(promise)
  }
  await Promise.all(running)
  if (failure !== undefined) throw failure.error
  return {
    calls: times.length,
    seconds: (performance.now() - start) / 1000 - first / rate,
    times: Float32Array.from(times),
    due: Float64Array.from(dues),
  }
}
