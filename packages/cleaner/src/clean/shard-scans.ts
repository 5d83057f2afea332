import { formatId, LooseleafError, type EntityPageRow, type IndexRow } from '@looseleaf/core'
import type { WholeRow } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { checkEntityPage } from '../check/check-page.ts'
import { entityPages } from '../look/entity-pages.ts'
import { indexPages } from '../look/index-pages.ts'
import { tableOn, type IndexTarget } from '../pass/index-target.ts'
import { countByIndex, watchUnreadable, type Unreadable } from '../pass/pass.ts'
import { addTally } from '../pass/tally.ts'
import { sweepEntityPage } from '../sweep/sweep-entities.ts'
import { gatherRows, sweepIndexRows } from '../sweep/sweep-index.ts'
import { passOf, runOf, type CleanJob } from './clean-job.ts'
import type { LeasedParts, PartLease } from './part-lease.ts'
import { enterPhase } from './part.ts'
import { placeFromText, placeToText } from './place-text.ts'

/** Rounds of the check on one shard. Each adds what it finds, so a second one that finds something is rare. */
const MAX_ROUNDS = 5

/**
 * Reads the entities of a shard once for any number of indexes, each from where it was left, and adds what is missing.
 * As a check it begins again until a round from end to end has found nothing missing.
 */
export async function scanEntities(
  job: CleanJob,
  phase: 'entities' | 'check',
  parts: LeasedParts,
  leases: readonly PartLease[],
  shard: number,
  signal: AbortSignal,
): Promise<void> {
  const { context, meter } = job
  const { entities, tombstones } = await shardAt(context, shard).entities.count({ signal })
  for (const { part } of leases) part.total = entities + tombstones
  meter.begin(shard, partsOf(leases))

  let open = leases
  const reading = passOf(job, parts, signal)
  while (open.length > 0) {
    const start = Math.min(...open.map(({ part }) => part.addedId))
    for await (const page of entityPages(reading, shard, start)) {
      open = open.filter(({ isHeld }) => isHeld)
      if (open.length === 0) return
      // Those that stand at the same place share the work.
      for (const together of Map.groupBy(open, ({ part }) => part.addedId).values())
        await workOnPage(job, phase, parts, together, shard, page, signal)
      meter.count(shard, page.length)
      await parts.checkpoint({ signal })
      meter.tell(phase, shard, partsOf(open))
      await job.halts.look({ signal })
      open = open.filter(({ target }) => !job.halts.has(target))
    }
    await parts.settle({ signal })
    open = open.filter((lease) => !endRound(lease, phase))
  }
}

async function workOnPage(
  job: CleanJob,
  phase: 'entities' | 'check',
  parts: LeasedParts,
  leases: readonly PartLease[],
  shard: number,
  page: readonly WholeRow<EntityPageRow>[],
  signal: AbortSignal,
): Promise<void> {
  const place = leases[0]?.part.addedId ?? 0
  const rows = page.filter(({ addedId }) => addedId > place)
  const last = rows.at(-1)
  if (last === undefined) return
  const targets = leases.map(({ target }) => target)
  const { pass: counting, of } = countByIndex(passOf(job, parts, signal))
  const { pass, unreadable } = watchUnreadable(counting)
  if (phase === 'check') {
    const missing = await checkEntityPage(pass, targets, rows, job.settleMs)
    for (const { target, part } of leases) {
      part.missing += missing.get(target)?.missing ?? 0
      part.duplicates += missing.get(target)?.duplicates ?? 0
    }
  } else {
    const fill = (target: IndexTarget): boolean => isBuilding(target) || runOf(job, target).rewrites
    await sweepEntityPage(pass, targets, rows, { fill })
  }
  const [unknown] = unreadable.values()
  const building = targets.find(isBuilding)
  if (unknown !== undefined && building !== undefined) throw unreadableBody(building, unknown)
  for (const { target, part } of leases) {
    part.addedId = last.addedId
    part.seen += rows.length
    const tally = of(target)
    const { added, removed, fenced, waiting, misplaced } = tally
    // Problems are counted in the first phase; the check meets the same ones again.
    addTally(part.tally, phase === 'check' ? { added, removed, fenced, waiting, misplaced } : tally)
    job.meter.did(target, shard, tally)
  }
}

/** A body that nobody can decode is found by nobody; one that others can decode would be missing for them. */
function unreadableBody({ entry }: IndexTarget, { id, reason }: Unreadable): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError(
    'BODY_UNKNOWN',
    `Index ${entry.name} cannot be filled here: entity ${entity} cannot be read, and another process may be able to. ${reason}`,
    { entity },
  )
}

/** True when the phase is over, false when the check has to begin again. */
function endRound({ target, part }: PartLease, phase: 'entities' | 'check'): boolean {
  if (phase === 'entities') {
    enterPhase(part, 'dangling')
    return true
  }
  if (part.missing === 0) {
    enterPhase(part, 'done')
    return true
  }
  const rounds = part.rounds + 1
  if (rounds >= MAX_ROUNDS) {
    throw new LooseleafError(
      'CONFLICT',
      `Index ${target.entry.name}: each of ${rounds} checks found missing rows, which were added. Something deletes rows that it must not, or writes entities without them.`,
    )
  }
  const { total } = part
  enterPhase(part, 'check')
  Object.assign(part, { rounds, total })
  return false
}

/** Looks through index tables of a shard for dangling rows, from where each was left. */
export async function scanRows(
  job: CleanJob,
  parts: LeasedParts,
  leases: readonly PartLease[],
  shard: number,
  signal: AbortSignal,
): Promise<void> {
  const { meter } = job
  const reading = passOf(job, parts, signal)
  const rows = gatherRows(reading)
  /** By lease, how far the rows reach that were gathered. */
  let reached = new Map<PartLease, { readonly place: string; readonly rows: number }>()

  async function work(): Promise<void> {
    const { pass, of } = countByIndex(passOf(job, parts, signal))
    // Claims change hands; each is held against its entity.
    await sweepIndexRows(pass, shard, rows.take(), (target) => isBuilding(target) && !target.entry.unique)
    for (const [{ target, part }, { place, rows: count }] of reached) {
      part.place = place
      part.seen += count
      const tally = of(target)
      addTally(part.tally, tally)
      meter.did(target, shard, tally)
      meter.count(shard, count)
    }
    meter.tell('dangling', shard, partsOf([...reached.keys()]))
    reached = new Map()
  }

  meter.begin(shard, partsOf(leases))
  for (const lease of leases) {
    const { target, part } = lease
    part.total = 0
    for await (const page of indexPages(reading, target, shard, placeFromText(part.place))) {
      await job.halts.look({ signal })
      if (!lease.isHeld || job.halts.has(target)) break
      // A short page is the last one. Others are worth a count.
      if (part.total === 0) {
        const isAll = page.length < reading.maxPage
        part.total = isAll ? part.seen + page.length : await countRows(target, shard, signal)
      }
      rows.add(target, page)
      const before = reached.get(lease)?.rows ?? 0
      const last = page.at(-1) as IndexRow
      reached.set(lease, { place: placeToText(last), rows: before + page.length })
      if (rows.areMany) await work()
      await parts.checkpoint({ signal })
    }
  }
  await work()
  await parts.settle({ signal })
  for (const { target, part, isHeld } of leases)
    if (isHeld && !job.halts.has(target)) enterPhase(part, 'check')
}

function isBuilding({ entry }: IndexTarget): boolean {
  return entry.state === 'building'
}

function countRows(target: IndexTarget, shard: number, signal: AbortSignal): Promise<number> {
  return tableOn(target, shard).count({ prefix: [] }, { signal })
}

function partsOf(leases: readonly PartLease[]): { index: string; part: PartLease['part'] }[] {
  return leases.map(({ target, part }) => ({ index: target.entry.name, part }))
}
