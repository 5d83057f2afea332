import {
  processName,
  type Throttle,
  type Throttled,
  createRecentRate,
  type RecentRate,
} from '@looseleaf/protocol/internal'
import type { Time } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import { sumTallies, type Tally } from '../pass/tally.ts'
import type { Pace } from './pace.ts'
import type { Part, Phase } from './part.ts'
import { phasesAfter, rowsLeft, rowsLeftOnAll, timeLeftMs } from './time-left.ts'

/**
 * Progress of a cleaning on one shard, reported after every page, and once with `ready` at the end. `throttledBy` and `waited` describe the
 * waits of this process in the last half minute, on the shard with the longest waits.
 */
export interface CleanProgress extends Throttled {
  /** The current phase: entities to rows, rows to entities, the final check; `ready` at the end. */
  readonly phase: Phase | 'ready'
  /** The phases after this one. */
  readonly remainingPhases: readonly Phase[]
  /** The indexes that are cleaned together on this shard. */
  readonly indexes: readonly string[]
  /** The number of the shard, from 0. */
  readonly shard: number
  /** Entities of this shard done in this phase; rows in the phase `dangling`. */
  readonly done: number
  /** Entities or rows when the phase began, never less than `done`. */
  readonly total: number
  /** Rows added on this shard. This count and those below cover all these indexes and all phases so far. */
  readonly added: number
  readonly removed: number
  readonly fenced: number
  readonly postponed: number
  readonly misfits: number
  readonly undecodable: number
  /** Entities and rows that this process read per second in the last 15 seconds, over all shards. */
  readonly rate: number
  /**
   * Estimated milliseconds until the job ends: all remaining phases on all shards, at the current rate of this process. Other workers shorten
   * it. Waits for possible failovers and for kept rows are not included. Undefined without data for an estimate.
   */
  readonly timeLeftMs: number | undefined
}

type NamedPart = { readonly index: string; readonly part: Part }

export interface ProgressMeter {
  /** Registers parts of a shard that are worked on. Later estimates read their state. */
  begin(shard: number, parts: readonly NamedPart[]): void
  report(phase: Phase | 'ready', shard: number, parts: readonly NamedPart[]): void
  /** Counts entities or rows that were read on a shard, for the rate. */
  count(shard: number, rows: number): void
  paceOf(shard: number): Pace
}

export interface MeterOptions {
  readonly time: Time
  readonly throttle: Throttle
  /** Returns the numbers of the shards that the store has now. */
  readonly shardsNow: () => readonly number[]
  readonly planned: readonly Phase[]
  readonly onProgress: ((progress: CleanProgress) => void) | undefined
}

export function createProgressMeter({
  time,
  throttle,
  shardsNow,
  planned,
  onProgress,
}: MeterOptions): ProgressMeter {
  const elapsed = elapsedBy(time)
  const rate = createRecentRate(elapsed)
  const rates = new Map<number, RecentRate>()
  const begun = new Map<number, readonly Part[]>()

  const rateOf = (shard: number): RecentRate => {
    const shardRate = rates.get(shard) ?? createRecentRate(elapsed)
    rates.set(shard, shardRate)
    return shardRate
  }

  function estimateTimeLeft(): number | undefined {
    const remaining = shardsNow().map((shard) => rowsLeft(begun.get(shard) ?? [], planned))
    return timeLeftMs(rowsLeftOnAll(remaining), rate.perSecond())
  }

  return {
    begin: (shard, parts) =>
      void begun.set(
        shard,
        parts.map(({ part }) => part),
      ),
    count(shard, rows) {
      rate.count(rows)
      rateOf(shard).count(rows)
    },
    paceOf: (shard) => ({
      savedAt: time.now(),
      worker: processName,
      rate: Math.round(rateOf(shard).perSecond()),
      ...throttle.recentWaits(),
    }),
    report(phase, shard, parts) {
      if (onProgress === undefined) return
      const done = Math.max(0, ...parts.map(({ part }) => part.seen))
      const { added, removed, fenced, postponed, misfits, undecodable }: Tally = sumTallies(
        parts.map(({ part }) => part.tally),
      )
      onProgress({
        phase,
        remainingPhases: phase === 'ready' ? [] : phasesAfter(phase, planned),
        indexes: [...new Set(parts.map(({ index }) => index))],
        shard,
        done,
        total: Math.max(done, ...parts.map(({ part }) => part.total)),
        added,
        removed,
        fenced,
        postponed,
        misfits,
        undecodable,
        rate: Math.round(rate.perSecond()),
        timeLeftMs: phase === 'ready' ? 0 : estimateTimeLeft(),
        ...throttle.recentWaits(),
      })
    },
  }
}
