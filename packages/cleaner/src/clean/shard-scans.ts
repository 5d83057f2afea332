import { formatId, LooseleafError } from '@looseleaf/core'
import { unionOfRanges, type EntityPageRow, type IndexRow } from '@looseleaf/core/internal'
import type { WholeRow } from '@looseleaf/index-engine/internal'
import { pagesOfRows, shardAt, watchOwned } from '@looseleaf/protocol/internal'
import { checkEntityPage } from '../check/check-page.ts'
import { entityPages } from '../look/entity-pages.ts'
import { tableOn, type IndexTarget } from '../pass/index-target.ts'
import { countByIndex, watchUnreadable, type Unreadable } from '../pass/pass.ts'
import { addTally } from '../pass/tally.ts'
import { sweepEntityPage } from '../sweep/sweep-entities.ts'
import { gatherRows, sweepIndexRows } from '../sweep/sweep-index.ts'
import { passOf, runOf, type CleanJob } from './clean-job.ts'
import type { LeasedParts, PartLease } from './part-lease.ts'
import { enterPhase } from './part.ts'
import { placeFromText, placeToText } from './place-text.ts'
import { bucketsOf, type EntityPhase } from './read-buckets.ts'
import { createReadings, type Readers } from './readings.ts'

/** Largest number of rounds of the check on one shard. Each adds the rows that it misses, so a second such round is rare. */
const MAX_ROUNDS = 5

/**
 * Reads the entities of a shard once for several indexes, each from its saved place, and adds missing rows. The phase `check` repeats until
 * a whole round has found no missing row. A round leaves out entities that were added after it began: their writers know the indexes. Notes
 * which buckets the shard has owned all the time (`Part.read`).
 */
export async function scanEntities(
  job: CleanJob,
  phase: EntityPhase,
  parts: LeasedParts,
  leases: readonly PartLease[],
  shard: number,
  signal: AbortSignal,
): Promise<void> {
  const { context, meter, throttle } = job
  const pass = passOf(job, parts, signal)
  let rowsPerEntity = leases.length
  // A page with the rows that are looked up takes about a second at a rate, so that saves and pauses of the filling are not late.
  const entityRows = (): number =>
    Math.max(1, Math.min(pass.entityRows(), Math.floor(throttle.maxPage / (1 + rowsPerEntity))))
  const reading = { ...pass, entityRows }
  let open = leases
  while (open.length > 0) {
    const watch = await watchOwned(context, shard, { signal })
    // After the watch has begun: an entity of its buckets with a later place has a writer that knows the indexes.
    const { rows, lastAddedId } = await shardAt(context, shard).entities.extent({ signal })
    const readings = createReadings(context, shard, watch, open)
    for (const { part } of open) part.total = Math.round(rows * readings.shareOf(part))
    meter.begin(shard, partsOf(leases))
    const start = Math.min(...open.map(({ part }) => part.addedId))
    for await (const page of entityPages(reading, shard, { after: start, upTo: lastAddedId, watch })) {
      open = open.filter(({ isHeld }) => isHeld)
      if (open.length === 0) return
      readings.dropLost()
      // Parts at the same place that read the same buckets share the work.
      let read = page.length
      for (const group of readings.of(open))
        read += await workOnPage(job, phase, parts, group, shard, page, signal)
      meter.count(shard, read)
      if (page.length > 0) rowsPerEntity = read / page.length - 1
      await parts.checkpoint({ signal })
      meter.report(phase, shard, partsOf(open))
      await job.halts.refresh({ signal })
      open = open.filter(({ target }) => !job.halts.has(target))
    }
    await parts.settle({ signal })
    await watch.owned([])
    readings.dropLost()
    open = open.filter((lease) => !endRound(lease, phase))
  }
}

/** Works on a page of entities. Returns the number of their index rows that were looked up. */
async function workOnPage(
  job: CleanJob,
  phase: EntityPhase,
  parts: LeasedParts,
  { leases, isRead }: Readers,
  shard: number,
  page: readonly WholeRow<EntityPageRow>[],
  signal: AbortSignal,
): Promise<number> {
  const place = leases[0]?.part.addedId ?? 0
  const last = page.at(-1)
  if (last === undefined || last.addedId <= place) return 0
  const rows = page.filter((row) => row.addedId > place && isRead(row))
  const targets = leases.map(({ target }) => target)
  const { pass: counting, tallyFor } = countByIndex(passOf(job, parts, signal))
  const { pass, unreadable } = watchUnreadable(counting)
  if (phase === 'check') {
    const missing = await checkEntityPage(pass, targets, rows, job.settleMs)
    for (const { target, part } of leases) {
      part.missing += missing.get(target)?.missing ?? 0
      part.duplicates += missing.get(target)?.duplicates ?? 0
    }
  } else {
    const fill = (target: IndexTarget): boolean => isBuilding(target) || runOf(job, target).rewrites
    await sweepEntityPage(pass, targets, rows, fill)
  }
  const [unreadableEntity] = unreadable.values()
  const building = targets.find(isBuilding)
  if (unreadableEntity !== undefined && building !== undefined)
    throw unreadableBody(building, unreadableEntity)
  let lookedUp = 0
  for (const { target, part } of leases) {
    part.addedId = last.addedId
    part.seen += rows.length
    const tally = tallyFor(target)
    lookedUp += tally.rows
    const { added, fenced, postponed, misplaced } = tally
    // The first phase has counted the problems; the check only meets them again.
    addTally(part.tally, phase === 'check' ? { added, fenced, postponed, misplaced } : tally)
    job.countWork(target, shard, tally)
  }
  return lookedUp
}

/** Creates the error for a body that only other processes may be able to decode: they would miss its rows in the index. */
function unreadableBody({ entry }: IndexTarget, { id, reason }: Unreadable): LooseleafError {
  const entity = formatId(id)
  return new LooseleafError(
    'BODY_UNKNOWN',
    `Index ${entry.name} cannot be filled here: entity ${entity} cannot be decoded by this process, but another one may be able to. ${reason}`,
    { entity },
  )
}

/** Ends a round. Returns true if the phase is complete, false if the check has to repeat. */
function endRound({ target, part }: PartLease, phase: EntityPhase): boolean {
  if (phase === 'entities' || part.missing === 0) {
    part.read[phase] = unionOfRanges(part.read[phase], bucketsOf(part.reading!))
    enterPhase(part, phase === 'entities' ? 'dangling' : 'done')
    return true
  }
  const rounds = part.rounds + 1
  if (rounds >= MAX_ROUNDS) {
    throw new LooseleafError(
      'CONFLICT',
      `Index ${target.entry.name}: each of ${rounds} checks found missing rows and added them. Another program deletes index rows, or writes entities without them.`,
    )
  }
  const { total } = part
  enterPhase(part, 'check')
  // The next round reads all buckets again, also those of passes before this one, whose duplicates are counted anew.
  part.read.check = ''
  Object.assign(part, { rounds, total })
  return false
}

/** Reads index tables of a shard, each from its saved place, and deletes dangling rows. */
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
  /** Last place and number of the gathered rows, by lease. */
  let reached = new Map<PartLease, { readonly place: string; readonly rows: number }>()

  async function work(): Promise<void> {
    const { pass, tallyFor } = countByIndex(passOf(job, parts, signal))
    // Claims pass from entity to entity, so each is compared with the body of its entity.
    await sweepIndexRows(pass, shard, rows.take(), (target) => isBuilding(target) && !target.entry.unique)
    for (const [{ target, part }, { place, rows: count }] of reached) {
      part.place = place
      part.seen += count
      const tally = tallyFor(target)
      addTally(part.tally, tally)
      job.countWork(target, shard, tally)
    }
    meter.report('dangling', shard, partsOf([...reached.keys()]))
    reached = new Map()
  }

  meter.begin(shard, partsOf(leases))
  for (const lease of leases) {
    const { target, part } = lease
    part.total = 0
    for await (const page of pagesOfRows(reading, target.entry, shard, {
      limit: reading.maxPage,
      after: placeFromText(part.place),
    })) {
      meter.count(shard, page.length)
      await job.halts.refresh({ signal })
      if (!lease.isHeld || job.halts.has(target)) break
      // A short page is the last one, so its rows need no count statement.
      if (part.total === 0) {
        const isLast = page.length < reading.maxPage
        part.total = isLast ? part.seen + page.length : await countRows(lease, shard, signal)
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

async function countRows({ target, part }: PartLease, shard: number, signal: AbortSignal): Promise<number> {
  const entities = await tableOn(target, shard).count({ prefix: [] }, { signal })
  // An index of arrays has a row per element, and the statement counts entities.
  const { added, rows } = part.tally
  return target.entry.properties.some(({ many }) => many) ? Math.max(entities, added, rows) : entities
}

function partsOf(leases: readonly PartLease[]): { index: string; part: PartLease['part'] }[] {
  return leases.map(({ target, part }) => ({ index: target.entry.name, part }))
}
