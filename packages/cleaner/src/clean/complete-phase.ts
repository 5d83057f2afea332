import pLimit from 'p-limit'
import type { IndexTarget } from '../pass/index-target.ts'
import { untilOneFails } from '../tools/until-one-fails.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { claimParts, loadParts } from './part-lease.ts'
import { isPast, phasesUpTo, type Phase } from './part.ts'
import { loadRuns } from './run-record.ts'
import { scanEntities, scanRows } from './shard-scans.ts'

/**
 * Completes one phase on all shards. Each part has one worker at a time: this worker takes the free parts, and waits for those of other
 * workers, which become free when their leases expire at the latest.
 */
export async function completePhase(
  job: CleanJob,
  targets: readonly IndexTarget[],
  phase: Phase,
  signal: AbortSignal | undefined,
): Promise<void> {
  const limit = pLimit(job.shardsAtOnce)
  for (;;) {
    await job.halts.refresh({ signal })
    const active = targets.filter((target) => !job.halts.has(target))
    const open = await openParts(job, active, phase, signal)
    if (open.size === 0) return
    let hasWorked = false
    await untilOneFails(
      signal,
      [...open].map(
        ([shard, openTargets]) =>
          (either) =>
            limit(async () => {
              if (await workOnShard(job, phase, shard, openTargets, either)) hasWorked = true
            }),
      ),
    )
    if (hasWorked) continue
    job.onWait?.()
    await job.context.time.sleep(job.pollMs, signal)
  }
}

/**
 * Claims the free parts of a shard, and completes a phase for them: this one, or an earlier one if a failover set a part back. Saves and
 * releases the parts at the end, also after an error. Returns false if there was no work.
 */
async function workOnShard(
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

/** Returns the shards where this phase is not complete, with their indexes. Skips runs that another worker has ended. */
async function openParts(
  job: CleanJob,
  targets: readonly IndexTarget[],
  phase: Phase,
  signal: AbortSignal | undefined,
): Promise<Map<number, IndexTarget[]>> {
  const { context } = job
  const tables = targets.map(({ entry }) => entry.table)
  const records = await loadRuns(context, tables, { signal })
  const running = targets.filter((target) => {
    const record = records.get(target.entry.table)
    return record?.run === runOf(job, target).run && record.state === 'running'
  })
  const open = new Map<number, IndexTarget[]>()
  await Promise.all(
    context.driver.shards.map(async (_, shard) => {
      const names = running.map(({ entry }) => entry.table)
      const parts = await loadParts(context, names, shard, { signal })
      const incomplete = running.filter((target) => {
        const part = parts.get(target.entry.table)
        return part?.run !== runOf(job, target).run || !isPast(part, phase)
      })
      if (incomplete.length > 0) open.set(shard, incomplete)
    }),
  )
  return open
}
