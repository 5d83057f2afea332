import pLimit from 'p-limit'
import { runOf, type CleanJob } from './clean-job.ts'
import type { IndexTarget } from './index-target.ts'
import { loadPart } from './part-lease.ts'
import { isPast, type Stage } from './part.ts'
import { loadRun } from './run-record.ts'
import { workOnShard } from './shard-work.ts'
import { untilOneFails } from './until-one-fails.ts'

/**
 * Brings one pass to its end on all shards. Each shard's part is worked on by one worker at a time: this one takes what
 * is free, and waits for the others, whose parts become free when their lease runs out.
 */
export async function completeStage(
  job: CleanJob,
  targets: readonly IndexTarget[],
  stage: Stage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const limit = pLimit(job.shardsAtOnce)
  for (;;) {
    const open = await openParts(job, targets, stage, signal)
    if (open.size === 0) return
    let hasWorked = false
    await untilOneFails(
      signal,
      [...open].map(
        ([shard, those]) =>
          (either) =>
            limit(async () => {
              if (await workOnShard(job, stage, shard, those, either)) hasWorked = true
            }),
      ),
    )
    if (!hasWorked) await job.context.time.sleep(job.pollMs, signal)
  }
}

/** Shards with the indexes for which this pass is not over there. A run that others have ended has none. */
async function openParts(
  job: CleanJob,
  targets: readonly IndexTarget[],
  stage: Stage,
  signal: AbortSignal | undefined,
): Promise<Map<number, IndexTarget[]>> {
  const open = new Map<number, IndexTarget[]>()
  await Promise.all(
    targets.map(async (target) => {
      const { run } = runOf(job, target)
      const { table } = target.entry
      const record = await loadRun(job.context, table, { signal })
      if (record === undefined || record.run !== run || record.state !== 'running') return
      const parts = await Promise.all(
        target.tables.map((_, shard) => loadPart(job.context, table, shard, { signal })),
      )
      for (const [shard, part] of parts.entries()) {
        if (part?.run === run && isPast(part, stage)) continue
        open.set(shard, [...(open.get(shard) ?? []), target])
      }
    }),
  )
  return open
}
