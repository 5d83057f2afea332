import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from './run-callers.ts'

export interface RateOptions {
  /** Calls a second. */
  readonly rate: number
  readonly seconds: number
  /** Before these seconds, at the same rate; what is due there is not counted. */
  readonly runIn?: number
  /** When the first call begins that counts. */
  readonly onCounting?: () => void
  /** Calls that may be under way. Those that are due beyond wait, and their time counts all the same. */
  readonly most: number
  /** Ends it early. */
  readonly signal?: AbortSignal
}

/**
 * Calls begin at a fixed rate, whatever became of those before, and a call's time counts from when it should have begun: a side that
 * falls behind shows it in its times, as users would see it. Rejects with the first error of a call.
 */
export async function runAtRate(
  call: () => Promise<void>,
  { rate, seconds, runIn = 0, onCounting, most, signal }: RateOptions,
): Promise<Run> {
  const times: number[] = []
  const dues: number[] = []
  const running = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  const first = Math.round(rate * runIn)
  const start = performance.now()

  async function one(due: number, counts: boolean): Promise<void> {
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
    // Timers are a millisecond coarse, and may end early: a call that began before it is due would seem to take less than it does.
    for (let early = due - performance.now(); early > 0; early = due - performance.now())
      await sleep(Math.ceil(early))
    while (running.size >= most) await Promise.race(running)
    if (number === first) onCounting?.()
    const promise = one(due, number >= first).finally(() => running.delete(promise))
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
