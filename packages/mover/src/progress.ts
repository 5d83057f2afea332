import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { createRecentRate, type Throttle, type Throttled } from '@looseleaf/protocol/internal'
import type { MoveCounts, MoveRecord, MoveStep } from './move-record.ts'
import { sealTimesOf, type SealTimes } from './seal-times.ts'

/**
 * Progress of a move. `throttledBy` and `waited` describe the waits of this process in the last half minute, on the shard with the longest
 * waits.
 */
export interface MoveProgress extends Throttled {
  /** Number of the move. */
  readonly move: number
  readonly step: MoveStep
  readonly counts: Readonly<MoveCounts>
  /** Entities and rows that are to be read for copies and comparisons, about; never less than `counts.read`. */
  readonly total: number
  /** Entities and rows that this process read per second in the last 15 seconds. */
  readonly rate: number
  /** Estimated milliseconds until the copies are complete and compared. Undefined without data for an estimate. */
  readonly timeLeftMs: number | undefined
  readonly seals: SealTimes
}

export interface ProgressMeter {
  /** Counts entities or rows that were read on the source. */
  read(rows: number): void
  report(): void
}

export function createMeter(
  { time }: EngineContext,
  move: number,
  record: MoveRecord,
  throttle: Throttle,
  onProgress: ((progress: MoveProgress) => void) | undefined,
): ProgressMeter {
  const rate = createRecentRate(elapsedBy(time))
  return {
    read(rows) {
      rate.count(rows)
      record.counts.read += rows
      record.rate = Math.round(rate.perSecond())
    },
    report() {
      onProgress?.({
        move,
        step: record.step,
        counts: { ...record.counts },
        ...amountOf(record),
        seals: sealTimesOf(record.seals),
        ...throttle.recentWaits(),
      })
    },
  }
}

/** Returns the amount of the work. Every row is read for its copy, and again for the comparison. */
export function amountOf({ step, total, rate, counts: { read } }: MoveRecord): {
  readonly total: number
  readonly rate: number
  readonly timeLeftMs: number | undefined
} {
  const planned = Math.max(read, 2 * total)
  const isOver = step !== 'copying' && step !== 'checking'
  const timeLeftMs = rate > 0 && total > 0 ? Math.round(((planned - read) / rate) * 1_000) : undefined
  return { total: planned, rate, timeLeftMs: isOver ? 0 : timeLeftMs }
}
