import type { IndexTarget } from '../pass/index-target.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { claimParts } from './part-lease.ts'
import { phasesUpTo, type Phase } from './part.ts'
import { scanEntities, scanRows } from './shard-scans.ts'

/**
 * Claims the free parts of a shard, and completes a phase for them: this one, or an earlier one if a failover set a part back. Saves and
 * releases the parts at the end, also after an error. Returns false if there was no work.
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
    // Another worker may have completed the phase before the claim.
    const phase = phasesUpTo(upTo).find((candidate) => leases.some(({ part }) => part.phase === candidate))
    if (phase === undefined) return false
    const open = leases.filter(({ part }) => part.phase === phase)
    if (phase === 'dangling') await scanRows(job, parts, open, shard, signal)
    else await scanEntities(job, phase, parts, open, shard, signal)
    return true
  } finally {
    // Parts that cannot be released, for example because the connection is lost, become free when their leases expire.
    await parts.release().catch(() => undefined)
  }
}
