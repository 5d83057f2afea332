import pLimit from 'p-limit'
import type { IndexTarget } from '../pass/index-target.ts'
import { untilOneFails } from '../tools/until-one-fails.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { loadParts } from './part-lease.ts'
import { isPast, type Phase } from './part.ts'
import { loadRuns } from './run-record.ts'
import { workOnShard } from './shard-work.ts'

/**
 * Brings one phase to its end on all shards. Each shard's part is worked on by one worker at a time: this one takes what
 * is free, and waits for the others, whose parts become free when their lease runs out.
 */
export async function completePhase(
  job: CleanJob,
  targets: readonly IndexTarget[],
  phase: Phase,
  signal: AbortSignal | undefined,
): Promise<void> {
  const limit = pLimit(job.shardsAtOnce)
  for (;;) {
    await job.halts.look({ signal })
    const going = targets.filter((target) => !job.halts.has(target))
    const open = await openParts(job, going, phase, signal)
    if (open.size === 0) return
    let hasWorked = false
    await untilOneFails(
      signal,
      [...open].map(
        ([shard, those]) =>
          (either) =>
            limit(async () => {
              if (await workOnShard(job, phase, shard, those, either)) hasWorked = true
            }),
      ),
    )
    if (hasWorked) continue
    job.onWait?.()
    await job.context.time.sleep(job.pollMs, signal)
  }
}

/** Shards with the indexes for which this phase is not over there. A run that others have ended has none. */
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
      const those = running.filter((target) => {
        const part = parts.get(target.entry.table)
        return part?.run !== runOf(job, target).run || !isPast(part, phase)
      })
      if (those.length > 0) open.set(shard, those)
    }),
  )
  return open
}
