import { performance } from 'node:perf_hooks'

export interface Run {
  readonly calls: number
  readonly seconds: number
  /** Time of each call in milliseconds. */
  readonly times: Float32Array
  /** Time at which each call was due, in milliseconds since 1970. Present for a run at a rate. */
  readonly due?: Float64Array
}

export interface RunOptions {
  /** Concurrent callers. Each makes its next call when the previous one was answered. */
  readonly callers: number
  readonly seconds: number
  /** Seconds of the same calls right before the counted ones. Default: 0. */
  readonly runIn?: number
  /** Called when the first counted call begins. */
  readonly onCounting?: () => void
  /** Largest number of calls, including the run-in. Default: no limit. */
  readonly maxCalls?: number
  /** Wraps each ten calls of a caller, such as in the span of a request. Default: no wrapper. */
  readonly around?: ((calls: () => Promise<void>) => Promise<void>) | undefined
  /** Waits for the work that calls left behind. The clock runs until it resolves. */
  readonly catchUp?: () => Promise<void>
}

/** Calls per wrapper, like the calls of one request. */
const CALLS_PER_REQUEST = 10

/**
 * Keeps this many callers busy for this long. Each call begins in its own turn of the event loop, like a request from the network.
 * Its time includes the wait for that turn, so a side that blocks the event loop shows it. Calls in flight at the end are awaited and
 * counted. Rejects with the first error of a call, once all callers have stopped.
 */
export async function runCallers(
  call: () => Promise<void>,
  { callers, seconds, runIn = 0, onCounting, maxCalls = Infinity, around, catchUp }: RunOptions,
): Promise<Run> {
  const times: number[] = []
  const state = { failed: false, begun: 0, isCounting: false }
  const start = performance.now()
  const begin = start + runIn * 1000
  const end = begin + seconds * 1000

  // On a stalled machine, `end` may pass before any call counts. The run continues until one does.
  const shouldContinue = (now: number): boolean =>
    (now < end || times.length === 0) && !state.failed && state.begun < maxCalls

  /** Makes at most `count` calls. */
  async function caller(count: number): Promise<void> {
    for (let now = performance.now(), made = 0; made < count && shouldContinue(now); made++) {
      state.begun++
      const started = now
      const counts = started >= begin
      if (counts && !state.isCounting) {
        state.isCounting = true
        onCounting?.()
      }
      await nextTurn()
      await call()
      now = performance.now()
      if (counts) times.push(now - started)
    }
  }

  const results = await Promise.allSettled(
    Array.from({ length: callers }, async () => {
      try {
        if (around === undefined) await caller(Infinity)
        else while (shouldContinue(performance.now())) await around(() => caller(CALLS_PER_REQUEST))
      } catch (error) {
        state.failed = true
        throw error
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
  if (times.length === 0) throw new Error(`The run-in used up all of the ${maxCalls} prepared calls.`)
  await catchUp?.()
  return { calls: times.length, seconds: (performance.now() - begin) / 1000, times: Float32Array.from(times) }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
