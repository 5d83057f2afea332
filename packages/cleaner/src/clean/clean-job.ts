import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { Throttle } from '@looseleaf/protocol/internal'
import type { IndexTarget } from '../pass/index-target.ts'
import type { PassOptions } from '../pass/pass-options.ts'
import type { Tally } from '../pass/tally.ts'
import type { Tuned, Tuning } from '../pass/tuning.ts'
import { createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import type { Halts } from './halts.ts'
import { renewMs, type LeasedParts, type LeaseOptions } from './part-lease.ts'
import type { ProgressMeter } from './progress.ts'
import type { RunRecord } from './run-record.ts'

/** The share of one worker in cleaning some indexes. */
export interface CleanJob extends Pick<Tuning, 'pollMs' | 'settleMs' | 'shardsAtOnce'> {
  readonly context: EngineContext
  /** The indexes, each with the run that this worker joined. */
  readonly runs: ReadonlyMap<IndexTarget, RunRecord>
  readonly lease: LeaseOptions
  /** Called each time that this worker waits for others. */
  readonly onWait?: (() => void) | undefined
  readonly options: Tuned<PassOptions>
  readonly throttle: Throttle
  readonly halts: Halts
  readonly meter: ProgressMeter
  /** Counts work on an index on a shard, for observers and for the cleaner of the job. */
  countWork(target: IndexTarget, shard: number, tally: Tally): void
}

export function runOf(job: CleanJob, target: IndexTarget): RunRecord {
  return job.runs.get(target) as RunRecord
}

/**
 * Creates a pass over leased parts. Calls of the process may pause a page for longer than a lease, and so may a rate if the entities have many rows.
 * So the leases are renewed during and after pauses.
 */
export function passOf(
  job: Pick<CleanJob, 'context' | 'lease' | 'options' | 'throttle'>,
  { removals, renew }: LeasedParts,
  signal: AbortSignal | undefined,
): RepairPass {
  const throttle: Throttle = {
    ...job.throttle,
    rest: (ofRest) => job.throttle.rest(ofRest)?.then(() => renew({ signal: ofRest })),
    take: (shard, rows, ofTake) =>
      job.throttle.take(shard, rows, ofTake, {
        everyMs: renewMs(job.lease.leaseMs),
        onWait: () => renew({ signal: ofTake }),
      }),
  }
  return createRepairPass(job.context, { ...job.options, signal }, { throttle, removals })
}
