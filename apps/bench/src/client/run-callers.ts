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
  /** Before these seconds, with the same calls and no pause in between; what begins there is not counted. */
  readonly runIn?: number
  /** When the first call begins that counts. */
  readonly onCounting?: () => void
  /** No more calls than this, those of the run-in included. */
  readonly most?: number
  /** In what a caller makes some of its calls, one after the other. Default: in nothing. */
  readonly around?: ((calls: () => Promise<void>) => Promise<void>) | undefined
  /** What the calls leave under way: the clock runs until it has ended. */
  readonly ended?: () => Promise<void>
}

/** Calls of a request. */
const CALLS_AROUND = 10

/**
 * Keeps so many callers busy for so long. A call begins in a turn of the event loop of its own, as requests do that come over a
 * network, and its time counts from before that turn: whoever keeps the loop to itself makes the others wait, and it shows.
 * The last calls are waited for and counted. Rejects with the first error of a call, when all callers have stopped.
 */
export async function runCallers(
  call: () => Promise<void>,
  { callers, seconds, runIn = 0, onCounting, most = Infinity, around, ended }: RunOptions,
): Promise<Run> {
  const times: number[] = []
  const state = { failed: false, begun: 0, isCounting: false }
  const start = performance.now()
  const begin = start + runIn * 1000
  const end = begin + seconds * 1000

  // On a machine that is held up, one call counts at least.
  const goesOn = (now: number): boolean =>
    (now < end || times.length === 0) && !state.failed && state.begun < most

  /** Makes so many calls, or all. */
  async function caller(count: number): Promise<void> {
    for (let now = performance.now(), made = 0; made < count && goesOn(now); made++) {
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
        else while (goesOn(performance.now())) await around(() => caller(CALLS_AROUND))
      } catch (error) {
        state.failed = true
        throw error
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
  if (times.length === 0) throw new Error(`All of the ${most} calls that were prepared went into the run-in.`)
  await ended?.()
  return { calls: times.length, seconds: (performance.now() - begin) / 1000, times: Float32Array.from(times) }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
