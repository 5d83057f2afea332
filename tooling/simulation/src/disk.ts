import type { Random } from '@looseleaf-tooling/random'
import type { ReferenceShard, ShardState } from '@looseleaf-tooling/reference-driver'

/**
 * The disk of a shard's server. A commit is visible at once, and answered when it is on disk, which is at once too, unless
 * the disk hangs. The log is written in order.
 */
export interface Disk {
  readonly hangs: boolean
  hang(): void
  /** It gets some further, and hangs again. */
  advance(): void
  /** All is on disk, and everybody is answered. */
  goOn(): void
  /** The server falls back to what is on disk; connections are lost. Answers how many changes are gone. */
  crash(): number
  /** The shard has changed: from now on everybody sees it. */
  changed(): void
  /** Calls one of them when all that is visible now is on disk, or is not any more. At once where the disk does not hang. */
  whenWritten(then: () => void, lost: () => void): void
  /** The same for what can only begin when the disk does not hang. */
  whenFree(then: () => void, lost: () => void): void
}

interface Waiting {
  /** Which of the states has to be on disk. */
  readonly state: number
  readonly go: () => void
  readonly lost: () => void
}

export function createDisk(shard: Pick<ReferenceShard, 'state' | 'fallBack'>, random: Random): Disk {
  /** While it hangs: what is on disk, and what is visible since. */
  let states: ShardState[] = []
  let waiting: Waiting[] = []

  function write(upTo: number): void {
    states = states.slice(upTo)
    const done = waiting.filter(({ state }) => state <= upTo)
    waiting = waiting
      .filter(({ state }) => state > upTo)
      .map((each) => ({ ...each, state: each.state - upTo }))
    for (const { go } of done) go()
  }

  function wait(state: number, then: () => void, lost: () => void): void {
    if (states.length === 0) then()
    else waiting.push({ state, go: then, lost })
  }

  return {
    get hangs() {
      return states.length > 0
    },
    hang() {
      if (states.length === 0) states = [shard.state()]
    },
    advance: () => write(random.below(states.length)),
    goOn() {
      const done = waiting
      states = []
      waiting = []
      for (const { go } of done) go()
    },
    crash() {
      const cutOff = waiting
      const kept = random.below(states.length)
      const gone = Math.max(0, states.length - 1 - kept)
      if (gone > 0) shard.fallBack(states[kept] as ShardState, 'everything')
      states = []
      waiting = []
      for (const { lost } of cutOff) lost()
      return gone
    },
    changed() {
      if (states.length > 0) states.push(shard.state())
    },
    whenWritten: (then, lost) => wait(states.length - 1, then, lost),
    whenFree: (then, lost) => wait(Infinity, then, lost),
  }
}
