import { LooseleafError } from '@looseleaf/core'
import { backOffMs, bucketsIn, elapsedBy, withoutRanges, type AwayBuckets } from '@looseleaf/core/internal'
import {
  beginGroup,
  beginTarget,
  copyLast,
  groupsOf,
  handOver,
  hasComing,
  loadTimed,
  lostByTarget,
  seal,
  unseal,
  type OwnBuckets,
} from '@looseleaf/protocol/internal'
import type { Copier } from './copier.ts'
import { differentCopies, lostCopies } from './copy-faults.ts'
import { copyRound } from './copy-move.ts'
import { namesOf } from './move-events.ts'
import type { MoveJob } from './move-job.ts'

/** Seals of one group that may be taken away by writers in a row. */
const MAX_SEALS = 20
/** Rest between two groups, as a multiple of the time of the last seal, and its longest time in milliseconds. */
const REST = 4
const MAX_REST_MS = 2_000

/**
 * Hands the copier's buckets over, group after group. Each group is sealed for its last copy alone.
 *
 * Each group changes the epoch of the source twice, and an attempt of a write that began before such a change is refused, whatever its bucket.
 * An attempt takes about as long as a seal. Without a rest between the groups most attempts would meet a change, so writes of the whole
 * shard would take several attempts each.
 */
export async function handOverGroups(job: MoveJob, copier: Copier): Promise<void> {
  const { work, tuning } = job
  const size = Math.ceil(bucketsIn(copier.attempt.buckets).length / tuning.groups)
  const groups = groupsOf(bucketsIn(copier.buckets), Math.max(tuning.groupSize, size))
  try {
    for (const group of groups) {
      const sealedMs = await handOverGroup(job, copier, group)
      if (copier.attempt.buckets !== '') await job.lease.sleep(Math.min(MAX_REST_MS, REST * sealedMs))
    }
  } catch (error) {
    // A writer would take the seal away after a second. An error of this is less useful than the first one.
    await unseal(work, copier.attempt).catch(() => undefined)
    throw error
  }
}

/** Hands one group over. Returns the milliseconds for which it was sealed. */
async function handOverGroup(job: MoveJob, copier: Copier, group: string): Promise<number> {
  const { work, lease, meter } = job
  const { context, move, signal } = work
  const elapsed = elapsedBy(context.time)
  for (let seals = 1; ; seals++) {
    // Leaves as little as possible for the copy under the seal.
    await copyRound(job, copier)
    await copier.beginPass()
    // Read ahead, so that each change under the seal is one statement.
    const [source, target] = await Promise.all([
      loadTimed(context, move.from, { signal }),
      loadTimed(context, move.to, { signal }),
    ])
    // The change that lets the target begin compares the epoch of this state.
    if (!hasComing(target, move.id, copier.attempt)) throw await lostCopies(job)
    const began = elapsed()
    const away = await sealAndHandOver(job, copier, group, source)
    if (away !== undefined) {
      const next = await beginGroup(work, away, target, copier.target)
      if (next === undefined) {
        await beginTarget(context, move.to, { signal })
        // No further group is given up to a target that has lost copies.
        const { buckets } = await lostByTarget(work)
        if (withoutRanges(group, buckets) !== group) throw await lostCopies(job)
      }
      copier.goOn(group, next)
      const sealedMs = Math.round((elapsed() - began) * 10) / 10
      lease.record.seals.push(sealedMs)
      context.events.happened({
        kind: 'handed_over',
        ...namesOf(work),
        buckets: bucketsIn(group).length,
        sealedMs,
      })
      meter.report()
      await lease.saveDue()
      return sealedMs
    }
    if (seals === MAX_SEALS) {
      throw new LooseleafError(
        'CONFLICT',
        `Move ${move.id}: writers took the seal of a group away ${MAX_SEALS} times in a row, because the last copy took longer than they wait. Call shards.repair when the shards are less busy.`,
      )
    }
    await lease.sleep(backOffMs(seals, { firstMs: 100, maxMs: 5_000 }))
  }
}

/** Resolves with the record of the group that was given up; with undefined if it was not, so that it has to be sealed again. */
async function sealAndHandOver(
  job: MoveJob,
  copier: Copier,
  group: string,
  source: OwnBuckets,
): Promise<AwayBuckets | undefined> {
  const { work, lease } = job
  const { record } = lease
  const sealed = await seal(work, copier.attempt, group, source)
  const { copied, different, lastUpdated } = await copier.copy((target) =>
    copyLast(work, copier.place, group, target),
  )
  record.counts.entities += copied
  if (different > 0) throw await differentCopies(job, copier.attempt, different, 0)
  const end = Math.max(copier.place.updated, lastUpdated + 1)
  return handOver(work, copier.attempt, group, sealed, { end, last: record.last })
}
