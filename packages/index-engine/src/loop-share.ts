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
   * present slice lasts. After it, returns a promise: the loop gets a turn for other work, and while calls use the store, a pause until the loop
   * has been idle for as long as a slice, of up to 19 times the work. Resolves with the milliseconds of the pause that this caller began,
   * and 0 for one of others. Rejects with `ABORTED` if the signal fires in a pause.
   */
  rest(time: Time, signal?: AbortSignal): Promise<number> | undefined
  /** Tells whether work has paused for calls in the last five seconds. A site with a visit in a few seconds is in use. */
  gaveWay(): boolean
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
/** Longest pause as a multiple of the work before it, so that background work takes at least a twentieth of the time. */
const MAX_PAUSES = 19
const MAX_PAUSE_MS = 1_000
/**
 * Idle time of the loop that follows a slice, so that background work takes at most half of the time that calls leave. A request waits for
 * shorter whiles, as for its session or the compression of its page, and a slice in each of them would delay it by several.
 */
const FREE_MS = 2
/** Calls use the store for this long after the last one has begun. */
const IN_USE_MS = 1_000
/** Time in which a pause for calls counts as recent. */
const GAVE_WAY_MS = 5_000
/** Time between two looks in a pause, so a pause without calls is shorter. */
const LOOK_MS = 1

const platformLoop: Loop = {
  elapsed: platformTime.elapsed,
  use: performance.eventLoopUtilization.bind(performance),
  nextTurn: () => new Promise((resolve) => platformTime.setImmediate(resolve)),
}

interface Pause {
  /** Time at which it began, by `elapsed`. */
  readonly from: number
  /** End by `elapsed`, for a loop that is busy. */
  readonly until: number
  /** End by the idle time of the loop. */
  readonly idle: number
}

export function createLoopShare(
  calls: Pick<Gate, 'inFlight' | 'entered'>,
  loop: Loop = platformLoop,
): LoopShare {
  let sliceFrom = loop.elapsed()
  let usedFrom = loop.use()
  let pause: Pause | undefined
  let callsSeen = calls.entered
  let callSeenAt = -Infinity
  let gaveWayAt = -Infinity

  function endPause({ from }: Pause): void {
    pause = undefined
    sliceFrom = loop.elapsed()
    if (sliceFrom - from >= LOOK_MS) gaveWayAt = sliceFrom
    usedFrom = loop.use()
  }

  /** Begins a pause if the slice is over. Time in which the loop has waited, as for an answer of a server, is no work. */
  function beginPause(): Pause | undefined {
    const work = loop.use().active - usedFrom.active
    const now = loop.elapsed()
    sliceFrom = now - work
    if (work < SLICE_MS) return undefined
    return {
      from: now,
      until: now + Math.min(MAX_PAUSE_MS, MAX_PAUSES * work),
      idle: usedFrom.idle + FREE_MS,
    }
  }

  // Not by `inFlight` alone: no call is in flight while a request arrives, between two of its calls, and while its page is rendered.
  function isInUse(): boolean {
    if (calls.entered !== callsSeen) callSeenAt = loop.elapsed()
    callsSeen = calls.entered
    return calls.inFlight > 0 || loop.elapsed() - callSeenAt < IN_USE_MS
  }

  const isOver = ({ until, idle }: Pause): boolean =>
    !isInUse() || loop.elapsed() >= until || loop.use().idle >= idle

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
      if (pause === present) endPause(present)
    }
  }

  const isSliceOver = (): boolean => loop.elapsed() - sliceFrom >= SLICE_MS

  return {
    rest: (time, signal) => (pause === undefined && !isSliceOver() ? undefined : rest(time, signal)),
    gaveWay: () => loop.elapsed() - gaveWayAt < GAVE_WAY_MS,
  }
}
