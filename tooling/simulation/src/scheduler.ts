import { abortedError, type Time } from '@looseleaf/core'
import type { Random } from './random.ts'

/** Something that is to happen at some time, in an order that the seed decides. */
interface Pending {
  /** Not before this step, unless there is nothing else. */
  readonly notBefore: number
  readonly label: string
  readonly run: () => void
}

interface Timer {
  readonly at: number
  readonly wake: () => void
}

/**
 * The one clock and the one queue of a simulated world. Nothing happens by itself: whoever waits for an answer or for a
 * time waits here, and `step` lets one thing happen, chosen by the seed, and then everyone do what follows from it.
 */
export interface Scheduler {
  readonly time: Time
  /** Milliseconds of virtual time since 1970. */
  now(): number
  /** What has happened so far, a line each. */
  readonly log: readonly string[]
  add(label: string, run: () => void): void
  note(line: string): void
  /** Lets one thing happen; false when there is nothing left to happen. */
  step(): Promise<boolean>
}

/** How many of all statements are slow, and by how many steps at the most. */
const SLOW = 0.1
const SLOW_STEPS = 200

const GATHERING_TURNS = 5

const START = Date.UTC(2009, 1, 27)

export function createScheduler(random: Random, afterEach: (label: string) => void): Scheduler {
  const log: string[] = []
  const pending: Pending[] = []
  const timers: Timer[] = []
  let now = START
  let step = 0

  const time: Time = {
    now: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(abortedError(signal))
        const timer = { at: now + milliseconds, wake: resolve }
        timers.push(timer)
        signal?.addEventListener('abort', () => {
          const at = timers.indexOf(timer)
          if (at !== -1) timers.splice(at, 1)
          reject(abortedError(signal))
        })
      }),
  }

  function wakeNext(): boolean {
    const [first] = timers.toSorted((a, b) => a.at - b.at)
    if (first === undefined) return false
    timers.splice(timers.indexOf(first), 1)
    now = Math.max(now, first.at)
    first.wake()
    return true
  }

  /** Most statements arrive soon, in any order; a few take so long that whole other writes happen meanwhile. */
  const delay = (): number => (random.chance(SLOW) ? random.below(SLOW_STEPS) : 0)

  function takeNext(): Pending {
    const due = pending.filter((event) => event.notBefore <= step)
    const event = random.pick(due.length > 0 ? due : pending)
    pending.splice(pending.indexOf(event), 1)
    return event
  }

  /** Everything that follows without waiting for the world has happened when this resolves. */
  const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  return {
    time,
    now: () => now,
    log,
    note: (line) => void log.push(line),
    add: (label, run) => void pending.push({ label, run, notBefore: step + delay() }),
    async step() {
      step++
      await quiet()
      // A lane gathers calls for a few turns of the event loop before it sends anything.
      for (let turn = 0; turn < GATHERING_TURNS && pending.length + timers.length === 0; turn++) await quiet()
      const due = timers.some((timer) => timer.at <= now)
      if (pending.length === 0 || (due && random.chance(0.5))) {
        if (!wakeNext()) return false
      } else {
        const event = takeNext()
        now += random.below(3)
        log.push(event.label)
        event.run()
        // Before anybody is told of it.
        afterEach(event.label)
      }
      await quiet()
      return true
    },
  }
}
