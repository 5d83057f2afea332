import { runOf, type CleanJob } from './clean-job.ts'
import { scanEntities, scanRows } from './shard-scans.ts'
import { claimPart, type PartLease } from './part-lease.ts'
import type { IndexTarget } from './index-target.ts'
import type { Stage } from './part.ts'

/**
 * Takes the free parts of a shard and brings this pass to its end for them. Whatever ends the work, what was done is
 * saved and the parts are given up. False when there was nothing to do.
 */
export async function workOnShard(
  job: CleanJob,
  stage: Stage,
  shard: number,
  targets: readonly IndexTarget[],
  signal: AbortSignal,
): Promise<boolean> {
  const leases: PartLease[] = []
  try {
    for (const target of targets) {
      const lease = await claimPart(job.context, target, shard, runOf(job, target), job.lease, { signal })
      if (lease !== undefined) leases.push(lease)
    }
    // Another worker may have ended the pass between the look and the claim.
    const open = leases.filter(({ part }) => part.stage === stage)
    if (open.length === 0) return false
    if (stage === 'dangling') {
      for (const lease of open) await scanRows(job, lease, shard, signal)
    } else {
      await scanEntities(job, stage, open, shard, signal)
    }
    return true
  } finally {
    // A part that cannot be given up, the connection being gone, becomes free when its lease runs out.
    await Promise.allSettled(leases.map((lease) => lease.release()))
  }
}
