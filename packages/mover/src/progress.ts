import { elapsedBy } from '@looseleaf/core/internal'
import { createRecentRate, type MoveWork, type Throttled } from '@looseleaf/protocol/internal'
import type { MoveNames } from './move-events.ts'
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
  { context: { time, events }, move, throttle }: MoveWork,
  names: MoveNames,
  record: MoveRecord,
  onProgress: ((progress: MoveProgress) => void) | undefined,
): ProgressMeter {
  const rate = createRecentRate(elapsedBy(time))
  let reported = { ...record.counts }

  function reportCopies(): void {
    const before = reported
    reported = { ...record.counts }
    const copied = {
      entities: reported.entities - before.entities,
      rows: reported.rows - before.rows + (reported.late - before.late),
      claims: reported.claims - before.claims,
    }
    if (Object.values(copied).some((count) => count > 0))
      events.happened({ kind: 'copied', ...names, ...copied })
  }

  return {
    read(rows) {
      rate.count(rows)
      record.counts.read += rows
      record.rate = Math.round(rate.perSecond())
    },
    report() {
      if (events.isWanted) reportCopies()
      onProgress?.({
        move: move.id,
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
export function amountOf({
  step,
  total,
  rate,
  counts: { read },
}: MoveRecord): Pick<MoveProgress, 'total' | 'rate' | 'timeLeftMs'> {
  const planned = Math.max(read, 2 * total)
  const isOver = step !== 'copying' && step !== 'checking'
  const timeLeftMs = rate > 0 && total > 0 ? Math.round(((planned - read) / rate) * 1_000) : undefined
  return { total: planned, rate, timeLeftMs: isOver ? 0 : timeLeftMs }
}
