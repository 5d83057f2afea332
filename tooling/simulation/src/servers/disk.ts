import type { Random } from '@looseleaf-tooling/kit/random'
import type { ReferenceShard, ShardState } from '@looseleaf-tooling/kit/reference-driver'

/**
 * The disk of a shard's server. A commit is visible at once. Its answer waits until it is on disk, which
 * takes no time unless the disk hangs. The log is written in order.
 */
export interface Disk {
  readonly hangs: boolean
  hang(): void
  /** Writes a part of the log, then hangs again. */
  advance(): void
  /** Writes everything and sends all answers. */
  goOn(): void
  /** Resets the server to its disk; connections are lost. Returns the number of undone changes. */
  crash(): number
  /** Records a change, which is visible from now on. */
  changed(): void
  /**
   * Calls `then` when everything that is visible now is on disk, or `lost` when it is undone. Immediate
   * unless the disk hangs.
   */
  whenWritten(then: () => void, lost: () => void): void
  /** The same for a statement that can only begin while the disk does not hang. */
  whenFree(then: () => void, lost: () => void): void
}

interface Waiting {
  /** The state that must be on disk. */
  readonly state: number
  readonly go: () => void
  readonly lost: () => void
}

export function createDisk(shard: Pick<ReferenceShard, 'state' | 'fallBack'>, random: Random): Disk {
  /** While the disk hangs: the state on disk, followed by the states visible since. */
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
