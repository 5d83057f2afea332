import { formatId, LooseleafError, type EntityPageRow } from '@looseleaf/core'
import { passOf, runOf, type CleanJob } from './clean-job.ts'
import { checkEntityPage } from './check-page.ts'
import { entityPages } from './entity-pages.ts'
import { indexPages } from './index-pages.ts'
import { shardAt, tableOn, type IndexTarget } from './index-target.ts'
import type { PartLease } from './part-lease.ts'
import { enterStage } from './part.ts'
import { createPass, watchUnreadable } from './pass.ts'
import { placeFromText, placeToText } from './place-text.ts'
import { sweepEntityPage } from './sweep-entities.ts'
import { sweepIndexPage } from './sweep-index.ts'
import { addTally } from './tally.ts'

/** Rounds of the check on one shard. Each adds what it finds, so a second one that finds something is rare. */
const MAX_ROUNDS = 5

/**
 * Reads the entities of a shard once for any number of indexes, each from where it was left, and adds what is missing.
 * As a check it begins again until a round from end to end has found nothing missing.
 */
export async function scanEntities(
  job: CleanJob,
  stage: 'entities' | 'check',
  leases: readonly PartLease[],
  shard: number,
  signal: AbortSignal,
): Promise<void> {
  const { context, meter } = job
  const { entities, tombstones } = await shardAt(context, shard).entities.count({ signal })
  for (const { part } of leases) part.total = entities + tombstones

  let open = leases
  const reading = createPass(context, { ...job.options, signal }, { throttle: job.throttle })
  while (open.length > 0) {
    const start = Math.min(...open.map(({ part }) => part.addedId))
    for await (const page of entityPages(reading, shard, start)) {
      open = open.filter(({ isHeld }) => isHeld)
      if (open.length === 0) return
      await Promise.all(open.map((lease) => workOnPage(job, stage, lease, page, signal)))
      meter.count(page.length)
      await Promise.all(open.map((lease) => lease.checkpoint({ signal })))
      meter.tell(stage, shard, partsOf(open))
    }
    await Promise.all(open.map((lease) => lease.settle({ signal })))
    open = open.filter((lease) => !endRound(lease, stage))
  }
}

async function workOnPage(
  job: CleanJob,
  stage: 'entities' | 'check',
  lease: PartLease,
  page: readonly EntityPageRow[],
  signal: AbortSignal,
): Promise<void> {
  const { target, part } = lease
  const rows = page.filter(({ addedId }) => addedId > part.addedId)
  const last = rows.at(-1)
  if (last === undefined) return
  const { pass, unreadable } = watchUnreadable(passOf(job, lease, signal))
  if (stage === 'check') part.missing += await checkEntityPage(pass, target, rows, job.settleMs)
  else {
    const fill = target.entry.state === 'building' || runOf(job, target).rewrites
    await sweepEntityPage(pass, [target], rows, { fill })
  }
  const [unknown] = unreadable.values()
  if (unknown !== undefined && target.entry.state === 'building') throw unreadableBody(target, unknown)
  part.addedId = last.addedId
  part.seen += rows.length
  const { entities, rows: looked, misfits, undecodable, ...done } = pass.tally
  // Problems are counted by the first pass over the entities; the check meets the same ones again.
  addTally(part.tally, stage === 'check' ? done : { entities, rows: looked, misfits, undecodable, ...done })
  job.meter.did(pass.tally)
}

/** A body that nobody can decode is found by nobody; one that others can decode would be missing for them. */
function unreadableBody({ entry }: IndexTarget, id: Uint8Array): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError(
    'BODY_UNKNOWN',
    `Index ${entry.name} cannot be filled here: entity ${entity} is in a format that this process does not know. Fill it with the codec that the store is written with.`,
    { entity },
  )
}

/** True when the pass is over, false when the check has to begin again. */
function endRound({ target, part }: PartLease, stage: 'entities' | 'check'): boolean {
  if (stage === 'entities') {
    enterStage(part, 'dangling')
    return true
  }
  if (part.missing === 0) {
    enterStage(part, 'done')
    return true
  }
  const rounds = part.rounds + 1
  if (rounds >= MAX_ROUNDS) {
    throw new LooseleafError(
      'CONFLICT',
      `Index ${target.entry.name}: the check found missing rows in ${rounds} rounds, each of which added them. Something deletes rows that it must not, or writes entities without them.`,
    )
  }
  const { total } = part
  enterStage(part, 'check')
  Object.assign(part, { rounds, total })
  return false
}

/** Looks through the index table of a shard for dangling rows, from where it was left. */
export async function scanRows(
  job: CleanJob,
  lease: PartLease,
  shard: number,
  signal: AbortSignal,
): Promise<void> {
  const { target, part } = lease
  const { meter } = job
  part.total = await tableOn(target, shard).count({ prefix: [] }, { signal })
  const reading = passOf(job, lease, signal)
  for await (const page of indexPages(reading, target, shard, placeFromText(part.place))) {
    const pass = passOf(job, lease, signal)
    await sweepIndexPage(pass, target, shard, page)
    const last = page.at(-1)
    if (last !== undefined) part.place = placeToText(last)
    part.seen += page.length
    addTally(part.tally, pass.tally)
    meter.did(pass.tally)
    meter.count(page.length)
    await lease.checkpoint({ signal })
    meter.tell('dangling', shard, partsOf([lease]))
    if (!lease.isHeld) return
  }
  await lease.settle({ signal })
  enterStage(part, 'check')
}

function partsOf(leases: readonly PartLease[]): { index: string; part: PartLease['part'] }[] {
  return leases.map(({ target, part }) => ({ index: target.entry.name, part }))
}
