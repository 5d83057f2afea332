import { LooseleafError } from '@looseleaf/core'
import { bucketsIn, grouped, type LayoutMove } from '@looseleaf/core/internal'
import { hasKept, placeAt, shardAt, type Attempt } from '@looseleaf/protocol/internal'
import type { MoveJob } from './move-job.ts'
import type { MoveRecord } from './move-record.ts'

/** Makes the error of copies that differ or are missing, and lets the next attempt copy everything anew. */
export async function differentCopies(
  job: MoveJob,
  attempt: Attempt,
  different: number,
  extra: number,
): Promise<LooseleafError> {
  if (!(await hasKept(job.work, attempt, job.lease.record))) return lostCopies(job)
  await copyAnew(job)
  const { move } = job.work
  return new LooseleafError(
    'CONFLICT',
    `Move ${move.id}: ${different} copies differ from their entities, and ${extra} have no entity. Another program writes to the target. ${wayOn(move, attempt)}`,
  )
}

function wayOn({ buckets }: LayoutMove, { buckets: open, lost }: Attempt): string {
  const [all, unserved] = [buckets, open].map((text) => bucketsIn(text).length) as [number, number]
  if (all === unserved && lost === '')
    return 'Nothing was handed over. Call shards.repair to copy everything again, or undo the move.'
  return `The target serves ${grouped(all - unserved)} of the ${grouped(all)} buckets. Call shards.repair to copy the others again.`
}

/**
 * Makes the error of a target that lost commits: a retryable one, after which the next attempt announces the move again, and copies everything
 * anew.
 */
export async function lostCopies(job: MoveJob): Promise<LooseleafError> {
  const { context, move } = job.work
  job.announcement.at = undefined
  await copyAnew(job)
  const shard = shardAt(context, move.to).name
  return new LooseleafError(
    'STALE_EPOCH',
    `Move ${move.id}: ${shard} went back to an earlier state, without some of the copies: its server lost commits, by a failover or a restore. The move copies everything again.`,
    { shard },
  )
}

async function copyAnew({ lease }: MoveJob): Promise<void> {
  const fresh: Partial<MoveRecord> = {
    step: 'copying',
    cleared: false,
    place: placeAt(0),
    attempt: 0,
    last: undefined,
    tables: [],
    verified: undefined,
  }
  Object.assign(lease.record, fresh)
  await lease.save()
}
