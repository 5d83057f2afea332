import { abortedError, type Time } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'
import type { Life } from './life.ts'

/** A statement on its way to a shard. */
export interface Statement {
  readonly label: string
  /** The shard's number. */
  readonly shard: number
  /** Whose it is, while its sender waits for the answer. */
  readonly life?: Life
  /** Whether the shard may be another afterwards. */
  readonly writes: boolean
  /** Sent long ago: it arrives when nobody expects it any more. */
  readonly belated?: boolean
  arrive(): void
  /** Its connection breaks before it has arrived. */
  cut?(): void
}

interface TravellingStatement extends Statement {
  /** Not before this step, unless there is nothing else. */
  readonly notBefore: number
  /** True where its sender is frozen and has not sent it yet. */
  isHeld: boolean
}

interface Timer {
  readonly at: number
  readonly life: Life | undefined
  readonly wake: () => void
}

/**
 * The one clock and the one queue of a simulated world. Nothing happens by itself: whoever waits for an answer or for a
 * time waits here, and `step` lets one thing happen, chosen by the seed, and then everyone do what follows from it.
 */
export interface Scheduler {
  /** The time of a process; without one, of somebody who is never frozen. */
  timeOf(life?: Life): Time
  /** Milliseconds of virtual time since 1970. */
  now(): number
  /** The clock goes on by so much without anything happening. */
  leap(milliseconds: number): void
  /** What has happened so far, a line each. */
  readonly log: readonly string[]
  note(line: string): void
  add(statement: Statement): void
  /** A process freezes: some of its statements are on the wire already, others it has still to send. */
  freeze(life: Life): void
  thaw(life: Life): void
  /** The server of a shard is another one: what was on its way to the old one does not arrive. */
  cut(shard: number): void
  /** Lets one thing happen; false when there is nothing left that could. */
  step(): Promise<boolean>
}

/** How many of all statements are slow, and by how many steps at the most. */
const SLOW = 0.1
const SLOW_STEPS = 200
/** A statement that nobody waits for arrives within so many steps. */
const BELATED_STEPS = 300

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

  /** The timer to go off next; those of frozen processes wait, those of dead ones are gone. */
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

  /** Most statements arrive soon, in any order; a few take so long that whole other writes happen meanwhile. */
  function delay({ belated = false }: Statement): number {
    if (belated) return random.below(BELATED_STEPS)
    return random.chance(SLOW) ? random.below(SLOW_STEPS) : 0
  }

  function takeNext(moving: readonly TravellingStatement[]): TravellingStatement {
    const due = moving.filter((statement) => statement.notBefore <= step)
    const statement = random.pick(due.length > 0 ? due : moving)
    travelling.splice(travelling.indexOf(statement), 1)
    return statement
  }

  /** Everything that follows without waiting for the world has happened when this resolves. */
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
        // What its sender has still to send goes to the new server.
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
      // A lane gathers calls for a few turns of the event loop before it sends anything.
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
        // Before anybody is told of it.
        afterEach(statement)
      }
      await quiet()
      return true
    },
  }
}
