import { runOf, type CleanJob } from './clean-job.ts'
import { scanEntities, scanRows } from './shard-scans.ts'
import { claimParts } from './part-lease.ts'
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
  const runs = new Map(targets.map((target) => [target, runOf(job, target).run]))
  const parts = await claimParts(job.context, runs, shard, job.lease, { signal })
  const { leases } = parts
  try {
    // Another worker may have ended the pass between the look and the claim.
    const stage = stagesUpTo(upTo).find((each) => leases.some(({ part }) => part.stage === each))
    if (stage === undefined) return false
    const open = leases.filter(({ part }) => part.stage === stage)
    if (stage === 'dangling') await scanRows(job, parts, open, shard, signal)
    else await scanEntities(job, stage, parts, open, shard, signal)
    return true
  } finally {
    // Parts that cannot be given up, the connection being gone, become free when their leases run out.
    await parts.release().catch(() => undefined)
  }
}
