import { bucketsIn, elapsedBy, withoutRanges } from '@looseleaf/core/internal'
import { presentNumbers } from '@looseleaf/index-engine/internal'
import { beginTarget, noOwner, placeBefore } from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import type { IndexTarget } from '../pass/index-target.ts'
import { untilOneFails } from '../tools/until-one-fails.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { claimParts, loadParts, type PartLease } from './part-lease.ts'
import { isPast, phasesUpTo, reopenPhase, type Phase } from './part.ts'
import { byArrival, unreadBuckets, type EntityPhase } from './read-buckets.ts'
import { loadRuns } from './run-record.ts'
import { scanEntities, scanRows } from './shard-scans.ts'

/** Milliseconds that a worker waits for a shard to serve unread buckets, while there is nothing else to do. A handover takes some milliseconds. */
const OWNER_MS = 30_000

/**
 * Completes one phase on all shards. Each part has one worker at a time: this worker takes the free parts, and waits for those of other
 * workers, which become free when their leases expire at the latest. Rejects with `SHARD_BUSY` if no shard serves some buckets for long.
 */
export async function completePhase(
  job: CleanJob,
  targets: readonly IndexTarget[],
  phase: Phase,
  signal: AbortSignal | undefined,
): Promise<void> {
  const limit = pLimit(job.shardsAtOnce)
  const elapsed = elapsedBy(job.context.time)
  let [vainSince, vain] = [elapsed(), 0]
  for (;;) {
    await job.halts.refresh({ signal })
    const active = targets.filter((target) => !job.halts.has(target))
    const { open, unread } = await openParts(job, active, phase, signal)
    if (open.size === 0) return
    const found = new Set<Found>()
    await untilOneFails(
      signal,
      [...open].map(
        ([shard, openTargets]) =>
          (either) =>
            limit(async () => {
              found.add(await workOnShard(job, phase, shard, openTargets, unread, either))
            }),
      ),
    )
    if (found.has('work') || !found.has('unserved')) [vainSince, vain] = [elapsed(), 0]
    else if (++vain > 1 && elapsed() - vainSince >= OWNER_MS) throw noOwner(vain)
    if (found.has('work')) continue
    job.onWait?.()
    await job.context.time.sleep(job.pollMs, signal)
  }
}

/** Work that was done, parts of other workers, or buckets that the shard has not begun to serve. */
type Found = 'work' | 'others' | 'unserved'

/**
 * Claims the free parts of a shard, and completes a phase for them: this one, or an earlier one if a failover set a part back. A part that has
 * completed the phase reads the unread buckets that the shard owns by now. Saves and releases the parts at the end, also after an error.
 */
async function workOnShard(
  job: CleanJob,
  upTo: Phase,
  shard: number,
  targets: readonly IndexTarget[],
  unread: ReadonlyMap<IndexTarget, string>,
  signal: AbortSignal,
): Promise<Found> {
  const runs = new Map(targets.map((target) => [target, runOf(job, target).run]))
  const parts = await claimParts(job.context, runs, shard, job.lease, { signal })
  const { leases } = parts
  try {
    const isServed =
      upTo === 'dangling' ||
      unread.size === 0 ||
      (await reopenParts(job, upTo, shard, leases, unread, signal))
    // Another worker may have completed the phase before the claim.
    const phase = phasesUpTo(upTo).find((candidate) => leases.some(({ part }) => part.phase === candidate))
    if (phase === undefined) return isServed ? 'others' : 'unserved'
    const open = leases.filter(({ part }) => part.phase === phase)
    if (phase === 'dangling') await scanRows(job, parts, open, shard, signal)
    else await scanEntities(job, phase, parts, open, shard, signal)
    return 'work'
  } finally {
    // Parts that cannot be released, for example because the connection is lost, become free when their leases expire.
    await parts.release().catch(() => undefined)
  }
}

/**
 * Returns the parts of a shard to a phase over entities that they have completed, if the shard owns buckets that no part has read. They read
 * these from the place of their arrival on. Lets the shard begin to serve buckets that were handed over to it, in case their mover has died.
 * Returns false if it does not serve some of them.
 */
async function reopenParts(
  { context }: CleanJob,
  phase: EntityPhase,
  shard: number,
  leases: readonly PartLease[],
  unread: ReadonlyMap<IndexTarget, string>,
  signal: AbortSignal,
): Promise<boolean> {
  await beginTarget(context, shard, { signal })
  const catalog = await context.catalog.reloadShard(shard, { signal })
  const { shardOfBucket = [] } = catalog.placement
  const served = catalog.placement.servedOn(shard)
  let areServed = true
  for (const { target, part } of leases) {
    if (!isPast(part, phase)) continue
    const due = new Set(bucketsIn(withoutRanges(unread.get(target) ?? '', part.read[phase])))
    areServed &&= [...due].every((bucket) => shardOfBucket[bucket] !== shard || served.has(bucket))
    const reading = [...served].filter(([bucket]) => due.has(bucket))
    if (reading.length === 0) continue
    const addedId = placeBefore(
      catalog,
      shard,
      reading.map(([bucket]) => bucket),
    )
    reopenPhase(part, phase, { reading: byArrival(reading), addedId })
  }
  return areServed
}

interface OpenParts {
  /** The shards where this phase is not complete, with their indexes. */
  readonly open: ReadonlyMap<number, readonly IndexTarget[]>
  /** Buckets that no part of the index has read, although all parts have completed the phase. */
  readonly unread: ReadonlyMap<IndexTarget, string>
}

/** Finds the parts where this phase is not complete, and the owners of unread buckets. Skips runs that another worker has ended. */
async function openParts(
  job: CleanJob,
  targets: readonly IndexTarget[],
  phase: Phase,
  signal: AbortSignal | undefined,
): Promise<OpenParts> {
  const { context } = job
  const tables = targets.map(({ entry }) => entry.table)
  const records = await loadRuns(context, tables, { signal })
  const running = targets.filter((target) => {
    const record = records.get(target.entry.table)
    return record?.run === runOf(job, target).run && record.state === 'running'
  })
  const names = running.map(({ entry }) => entry.table)
  const shards = presentNumbers(context.driver)
  const loaded = await Promise.all(shards.map((shard) => loadParts(context, names, shard, { signal })))
  const open = new Map<number, IndexTarget[]>()
  const add = (shard: number, target: IndexTarget): void =>
    void open.set(shard, [...(open.get(shard) ?? []), target])
  const unread = new Map<IndexTarget, string>()
  for (const target of running) {
    const { run } = runOf(job, target)
    const parts = loaded.map((onShard) => onShard.get(target.entry.table)?.part)
    const past = parts.filter((part) => part !== undefined && part.run === run && isPast(part, phase))
    for (const [place, part] of parts.entries()) if (!past.includes(part)) add(shards[place]!, target)
    if (past.length < parts.length || phase === 'dangling') continue
    const buckets = unreadBuckets(
      context,
      past.filter((part) => part !== undefined),
      phase,
    )
    if (buckets !== '') unread.set(target, buckets)
  }
  if (unread.size > 0) {
    const { shardOfBucket = [] } = (await context.catalog.reload({ signal })).placement
    for (const [target, buckets] of unread)
      for (const shard of new Set(bucketsIn(buckets).map((bucket) => shardOfBucket[bucket] as number)))
        add(shard, target)
  }
  return { open, unread }
}
