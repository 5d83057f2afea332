import { processName } from '@looseleaf/protocol'
import { elapsedBy, type Time } from '@looseleaf/core'
import type { IndexTarget } from '../pass/index-target.ts'
import { sumTallies, type Tally } from '../pass/tally.ts'
import type { Throttle } from '../pass/throttle.ts'
import type { Throttled } from '../pass/waits.ts'
import { createRecentRate, type RecentRate } from '../tools/recent-rate.ts'
import type { Pace } from './pace.ts'
import type { Part, Phase } from './part.ts'
import { phasesAfter, rowsLeft, rowsLeftOnAll, timeLeftMs } from './time-left.ts'

/**
 * Where a cleaning stands on one shard; told after every page, and once with `ready` at the end. `throttledBy` and `waited` say
 * what has held this process's work up most in the last half a minute, on the shard where it was held up most.
 */
export interface CleanProgress extends Throttled {
  /** The phase under way: entities to rows, rows to entities, the final check; `ready` when all is done. */
  readonly phase: Phase | 'ready'
  /** The phases that come after it. */
  readonly toCome: readonly Phase[]
  /** The indexes that are cleaned together. */
  readonly indexes: readonly string[]
  /** The number of the shard, from 0. */
  readonly shard: number
  /** Entities (or rows, while dangling ones are looked for) of this shard done in this phase. */
  readonly done: number
  /** How many there were when the phase began, never less than `done`. */
  readonly total: number
  /** Rows added on this shard so far, for all these indexes, over all phases; the same holds for the counts below. */
  readonly added: number
  readonly removed: number
  readonly fenced: number
  readonly waiting: number
  readonly misfits: number
  readonly undecodable: number
  /** Entities and rows per second that this process has read in the last 15 seconds, over all shards. */
  readonly rate: number
  /**
   * An estimate of how long the whole job takes from now on, in milliseconds: all phases to come, on all shards, at the rate of
   * now. It is by this process alone, so with others at work it is shorter, and without waits for what a failover or a query
   * may need. Undefined while there is nothing to go by.
   */
  readonly timeLeftMs: number | undefined
}

type NamedPart = { readonly index: string; readonly part: Part }

export interface ProgressMeter {
  /** These parts of a shard are worked on from now on; they are looked at whenever something is told. */
  begin(shard: number, parts: readonly NamedPart[]): void
  tell(phase: Phase | 'ready', shard: number, parts: readonly NamedPart[]): void
  /** Counts entities or rows of a shard just read, for the rate. */
  count(shard: number, rows: number): void
  /** Takes in what the work on an index has done on a shard. */
  did(target: IndexTarget, shard: number, tally: Tally): void
  /** How the work on a shard goes. */
  paceOf(shard: number): Pace
}

export interface MeterOptions {
  readonly time: Time
  readonly throttle: Throttle
  /** How many shards there are. */
  readonly shards: number
  /** The phases of the job. */
  readonly planned: readonly Phase[]
  readonly onProgress: ((progress: CleanProgress) => void) | undefined
  readonly onWork: ((target: IndexTarget, shard: number, tally: Tally) => void) | undefined
}

export function createProgressMeter({
  time,
  throttle,
  shards,
  planned,
  onProgress,
  onWork,
}: MeterOptions): ProgressMeter {
  const elapsed = elapsedBy(time)
  const rate = createRecentRate(elapsed)
  const rates = new Map<number, RecentRate>()
  const begun = new Map<number, readonly Part[]>()

  const rateOf = (shard: number): RecentRate => {
    const own = rates.get(shard) ?? createRecentRate(elapsed)
    rates.set(shard, own)
    return own
  }

  function left(): number | undefined {
    const onShards = Array.from({ length: shards }, (_, shard) => rowsLeft(begun.get(shard) ?? [], planned))
    return timeLeftMs(rowsLeftOnAll(onShards), rate.perSecond())
  }

  return {
    begin: (shard, parts) =>
      void begun.set(
        shard,
        parts.map(({ part }) => part),
      ),
    count(shard, more) {
      rate.count(more)
      rateOf(shard).count(more)
    },
    did: (target, shard, tally) => onWork?.(target, shard, tally),
    paceOf: (shard) => ({
      savedAt: Math.floor(time.now()),
      worker: processName,
      rate: Math.round(rateOf(shard).perSecond()),
      ...throttle.lately(),
    }),
    tell(phase, shard, parts) {
      if (onProgress === undefined) return
      const done = Math.max(0, ...parts.map(({ part }) => part.seen))
      const { added, removed, fenced, waiting, misfits, undecodable }: Tally = sumTallies(
        parts.map(({ part }) => part.tally),
      )
      onProgress({
        phase,
        toCome: phase === 'ready' ? [] : phasesAfter(phase, planned),
        indexes: [...new Set(parts.map(({ index }) => index))],
        shard,
        done,
        total: Math.max(done, ...parts.map(({ part }) => part.total)),
        added,
        removed,
        fenced,
        waiting,
        misfits,
        undecodable,
        rate: Math.round(rate.perSecond()),
        timeLeftMs: phase === 'ready' ? 0 : left(),
        ...throttle.lately(),
      })
    },
  }
}
