import { performance } from 'node:perf_hooks'
import type { Time } from '@looseleaf/core'
import { platformTime, type Gate } from '@looseleaf/core/internal'

/**
 * The share of the event loop that background work of a store takes. All such work of the store has one share, because it blocks the same
 * calls.
 */
export interface LoopShare {
  /**
   * Call it between pieces of work that block the loop for less than a millisecond, and before each statement. Returns undefined while the
   * present slice lasts. After it, returns a promise: the loop gets a turn for other work, and while it is busy with calls of the store, a
   * pause of up to nine times the slice. Resolves with the milliseconds of the pause that this caller began, and 0 for one of others.
   * Rejects with `ABORTED` if the signal fires in a pause.
   */
  rest(time: Time, signal?: AbortSignal): Promise<number> | undefined
}

/** Clocks of the event loop, in milliseconds. */
export interface Loop {
  elapsed(): number
  /** Time in which the loop has waited because it had nothing to do, and time in which it has worked. */
  use(): { readonly idle: number; readonly active: number }
  /** Resolves in a later turn of the loop. */
  nextTurn(): Promise<void>
}

/** Work in one turn of the loop, about: a call that arrives meanwhile waits that long. */
const SLICE_MS = 2
/** Longest pause as a multiple of the work before it, so that background work takes at least a tenth of the time. */
const MAX_PAUSES = 9
const MAX_PAUSE_MS = 1_000
/** The loop is free once it has waited this long: the calls in flight wait for servers or timers then, not for this process. */
const FREE_MS = 0.5
/** Time between two looks in a pause. */
const LOOK_MS = 1

const platformLoop: Loop = {
  elapsed: platformTime.elapsed,
  use: performance.eventLoopUtilization.bind(performance),
  nextTurn: () => new Promise((resolve) => platformTime.setImmediate(resolve)),
}

interface Pause {
  readonly until: number
  /** Idle time of the loop when the pause began. */
  readonly idle: number
}

export function createLoopShare(calls: Pick<Gate, 'inFlight'>, loop: Loop = platformLoop): LoopShare {
  let sliceFrom = loop.elapsed()
  let activeFrom = loop.use().active
  let pause: Pause | undefined

  function beginSlice(): void {
    pause = undefined
    sliceFrom = loop.elapsed()
    activeFrom = loop.use().active
  }

  /** Begins a pause if the slice is over. Time in which the loop has waited, as for an answer of a server, is no work. */
  function beginPause(): Pause | undefined {
    const { idle, active } = loop.use()
    const work = active - activeFrom
    const now = loop.elapsed()
    sliceFrom = now - work
    return work < SLICE_MS ? undefined : { until: now + Math.min(MAX_PAUSE_MS, MAX_PAUSES * work), idle }
  }

  const isOver = ({ until, idle }: Pause): boolean =>
    calls.inFlight === 0 || loop.elapsed() >= until || loop.use().idle - idle >= FREE_MS

  async function rest(time: Time, signal: AbortSignal | undefined): Promise<number> {
    const restedFrom = loop.elapsed()
    let isMine = false
    for (;;) {
      if (pause === undefined) {
        pause = isSliceOver() ? beginPause() : undefined
        if (pause === undefined) return isMine ? loop.elapsed() - restedFrom : 0
        isMine = true
      }
      const present = pause
      // Requests that have arrived begin their calls in this turn.
      await loop.nextTurn()
      while (pause === present && !isOver(present)) await time.sleep(LOOK_MS, signal)
      // Another caller may have ended the pause, and used up the slice after it.
      if (pause === present) beginSlice()
    }
  }

  const isSliceOver = (): boolean => loop.elapsed() - sliceFrom >= SLICE_MS

  return {
    rest: (time, signal) => (pause === undefined && !isSliceOver() ? undefined : rest(time, signal)),
  }
}
