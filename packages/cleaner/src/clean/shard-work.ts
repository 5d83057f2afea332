import type { IndexTarget } from '../pass/index-target.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { claimParts } from './part-lease.ts'
import { phasesUpTo, type Phase } from './part.ts'
import { scanEntities, scanRows } from './shard-scans.ts'

/**
 * Takes the free parts of a shard and brings a phase to its end for them: this one, or an earlier one where a part is not
 * as far any more, as after a failover. Whatever ends the work, what was done is saved and the parts are given up. False
 * when there was nothing to do.
 */
export async function workOnShard(
  job: CleanJob,
  upTo: Phase,
  shard: number,
  targets: readonly IndexTarget[],
  signal: AbortSignal,
): Promise<boolean> {
  const runs = new Map(targets.map((target) => [target, runOf(job, target).run]))
  const parts = await claimParts(job.context, runs, shard, job.lease, { signal })
  const { leases } = parts
  try {
    // Another worker may have ended the phase between the look and the claim.
    const phase = phasesUpTo(upTo).find((each) => leases.some(({ part }) => part.phase === each))
    if (phase === undefined) return false
    const open = leases.filter(({ part }) => part.phase === phase)
    if (phase === 'dangling') await scanRows(job, parts, open, shard, signal)
    else await scanEntities(job, phase, parts, open, shard, signal)
    return true
  } finally {
    // Parts that cannot be given up, the connection being gone, become free when their leases run out.
    await parts.release().catch(() => undefined)
  }
}
