import { runOf, type CleanJob } from './clean-job.ts'
import { scanEntities, scanRows } from './shard-scans.ts'
import { claimPart, type PartLease } from './part-lease.ts'
import type { IndexTarget } from './index-target.ts'
import { stagesUpTo, type Stage } from './part.ts'

/**
 * Takes the free parts of a shard and brings a pass to its end for them: this one, or an earlier one where a part is not
 * as far any more, as after a failover. Whatever ends the work, what was done is saved and the parts are given up. False
 * when there was nothing to do.
 */
export async function workOnShard(
  job: CleanJob,
  upTo: Stage,
  shard: number,
  targets: readonly IndexTarget[],
  signal: AbortSignal,
): Promise<boolean> {
  const leases: PartLease[] = []
  try {
    for (const target of targets) {
      const lease = await claimPart(job.context, target, shard, runOf(job, target).run, job.lease, { signal })
      if (lease !== undefined) leases.push(lease)
    }
    // Another worker may have ended the pass between the look and the claim.
    const stage = stagesUpTo(upTo).find((each) => leases.some(({ part }) => part.stage === each))
    if (stage === undefined) return false
    const open = leases.filter(({ part }) => part.stage === stage)
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
