import type { Time } from '@looseleaf/core'
import { abortedError } from '@looseleaf/core/internal'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Life } from './life.ts'

/** A statement in flight to a shard. */
export interface Statement {
  readonly label: string
  /** The shard's number. */
  readonly shard: number
  /** Sender, while it waits for the answer. */
  readonly life?: Life
  /** True if the statement may change the shard. */
  readonly writes: boolean
  /** Greatest delay in steps of a statement that was sent long ago, and whose sender no longer waits. */
  readonly belated?: number
  arrive(): void
  /** Called if its connection breaks before it arrives. */
  cut?(): void
}

interface TravellingStatement extends Statement {
  /** Earliest step for its arrival, unless nothing else remains. */
  readonly notBefore: number
  /** True if its sender froze before sending it. */
  isHeld: boolean
}

interface Timer {
  readonly at: number
  readonly life: Life | undefined
  readonly wake: () => void
}

/**
 * The only clock and the only queue of a simulated world. Answers and timers wait here. `step` lets one event
 * happen, chosen by the seed, and then runs all code that follows from it.
 */
export interface Scheduler {
  /** Returns the time of a process; without a process, one that never freezes. */
  timeOf(life?: Life): Time
  /** Milliseconds of virtual time since 1970. */
  now(): number
  /** Advances the clock without any event. */
  leap(milliseconds: number): void
  /** All events so far, one line each. */
  readonly log: readonly string[]
  note(line: string): void
  add(statement: Statement): void
  /** Freezes a process: some of its statements are already on the wire, the others are sent when it wakes. */
  freeze(life: Life): void
  thaw(life: Life): void
  /** Replaces the server of a shard: statements in flight to the old one never arrive. */
  cut(shard: number): void
  /** Lets one event happen; returns false if none is left. */
  step(): Promise<boolean>
}

/** Share of slow statements, and their greatest delay in steps. */
const SLOW = 0.1
const SLOW_STEPS = 200
/** Greatest delay in steps of most statements whose sender no longer waits. */
export const BELATED_STEPS = 300

const GATHERING_TURNS = 5

const START = Date.UTC(2009, 1, 27)

export function createScheduler(random: Random, afterEach: (statement: Statement) => void): Scheduler {
  const log: string[] = []
  let travelling: TravellingStatement[] = []
  const timers: Timer[] = []
  let now = START
  let step = 0

  function sleep(life: Life | undefined, milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortedError(signal))
      const onAbort = (): void => {
        const at = timers.indexOf(timer)
        if (at !== -1) timers.splice(at, 1)
        reject(abortedError(signal))
      }
      const timer: Timer = {
        at: now + milliseconds,
        life,
        wake() {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      timers.push(timer)
      signal?.addEventListener('abort', onAbort)
    })
  }

  /** Returns the next timer. Timers of frozen processes wait, those of dead ones are gone. */
  function nextTimer(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of timers) {
      if (timer.life?.frozen === true) continue
      if (next === undefined || timer.at < next.at) next = timer
    }
    return next
  }

  function goOff(timer: Timer): void {
    timers.splice(timers.indexOf(timer), 1)
    now = Math.max(now, timer.at)
    if (timer.life?.alive !== false) timer.wake()
  }

  /**
   * Most statements arrive soon, in any order. A few are delayed so long that whole other writes happen
   * first.
   */
  function delay({ belated }: Statement): number {
    if (belated !== undefined) return random.below(belated)
    return random.chance(SLOW) ? random.below(SLOW_STEPS) : 0
  }

  function takeNext(moving: readonly TravellingStatement[]): TravellingStatement {
    const due = moving.filter((statement) => statement.notBefore <= step)
    const statement = random.pick(due.length > 0 ? due : moving)
    travelling.splice(travelling.indexOf(statement), 1)
    return statement
  }

  /** Resolves when all code that does not wait for the world has run. */
  const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  return {
    timeOf: (life) => ({ now: () => now + (life?.skewMs ?? 0), sleep: (...args) => sleep(life, ...args) }),
    now: () => now,
    leap: (milliseconds) => void (now += milliseconds),
    log,
    note: (line) => void log.push(line),
    add(statement) {
      const isHeld = statement.life?.frozen === true
      travelling.push({ ...statement, notBefore: step + delay(statement), isHeld })
    },
    freeze(life) {
      life.frozen = true
      for (const statement of travelling) if (statement.life === life) statement.isHeld = random.chance(0.5)
    },
    thaw(life) {
      for (const statement of travelling) if (statement.life === life) statement.isHeld = false
    },
    cut(shard) {
      const lost = travelling.filter((statement) => {
        if (statement.shard !== shard) return false
        // Statements that the sender has yet to send go to the new server.
        return statement.life === undefined || (!statement.isHeld && random.chance(0.5))
      })
      travelling = travelling.filter((statement) => !lost.includes(statement))
      for (const statement of lost) statement.cut?.()
    },
    async step() {
      step++
      await quiet()
      let moving = travelling.filter(({ isHeld }) => !isHeld)
      let timer = nextTimer()
      // A lane gathers calls for a few turns of the event loop before it sends a statement.
      for (let turn = 0; turn < GATHERING_TURNS && moving.length === 0 && timer === undefined; turn++) {
        await quiet()
        moving = travelling.filter(({ isHeld }) => !isHeld)
        timer = nextTimer()
      }
      const isDue = timer !== undefined && timer.at <= now
      if (timer !== undefined && (moving.length === 0 || (isDue && random.chance(0.5)))) {
        goOff(timer)
      } else {
        if (moving.length === 0) return false
        const statement = takeNext(moving)
        now += random.below(3)
        log.push(statement.label)
        statement.arrive()
        // Runs before the sender receives the answer.
        afterEach(statement)
      }
      await quiet()
      return true
    },
  }
}
