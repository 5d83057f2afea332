import pLimit from 'p-limit'
import type { IndexTarget } from '../pass/index-target.ts'
import { untilOneFails } from '../tools/until-one-fails.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { loadParts } from './part-lease.ts'
import { isPast, type Phase } from './part.ts'
import { loadRuns } from './run-record.ts'
import { workOnShard } from './shard-work.ts'

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
