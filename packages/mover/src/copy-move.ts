import { isLooseleafError } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import {
  compareEntities,
  copyEntities,
  copyIndexRows,
  countExtra,
  deleteDelayMs,
  loadOwn,
  ofMove,
  placeAt,
  processName,
  shardAt,
  type CopiedRows,
} from '@looseleaf/protocol/internal'
import type { Copier } from './copier.ts'
import { differentCopies } from './copy-faults.ts'
import type { MoveJob } from './move-job.ts'

/**
 * Copies the entities of the copier's buckets up to a floor that it raises, and advances the place to it. Returns how many rows it copied. The
 * source must still have all of the buckets: a copy would overwrite what the target has accepted since they were handed over.
 */
export async function copyRound(job: MoveJob, copier: Copier): Promise<number> {
  const { work, lease } = job
  const { record } = lease
  const { buckets } = copier
  await copier.beginPass()
  const until = await shardAt(work.context, work.move.from).entities.raiseFloor({ signal: work.signal })
  let copies = 0
  await copier.copy((target) =>
    copyEntities(work, { after: copier.place, until, buckets }, target, async ({ place, read, copied }) => {
      copier.place = place
      record.counts.entities += copied
      copies += copied
      await noteRead(job, read)
    }),
  )
  copier.place = placeAt(until)
  if (copies > 0 && record.verified !== undefined) record.verified = { ...record.verified, stale: true }
  return copies
}

/** Copies entities until a round is small. Busy buckets are not waited for: each round is shorter than the one before it, or as short as possible. */
export async function copyRounds(job: MoveJob, copier: Copier): Promise<void> {
  for (let before = Infinity; ;) {
    const copies = await copyRound(job, copier)
    if (copies <= job.tuning.smallRound || copies > before / 2) return
    before = copies
  }
}

/**
 * Copies the rows of every index and the claims of every unique one; with `comparing`, only those that are missing on the target. Returns how
 * many rows and claims the move has, and how many claims the target cannot take yet. It is whole if another pass has no claim to take.
 */
export async function copyAllRows(
  job: MoveJob,
  { comparing }: { readonly comparing: boolean },
): Promise<Pick<CopiedRows, 'found' | 'later'> & { readonly isWhole: boolean }> {
  const { work, lease } = job
  const { record } = lease
  const all = { found: 0, later: 0, isWhole: true }
  for (const entry of indexesOf(job)) {
    if (!comparing && record.tables.includes(entry.table)) continue
    const onPage = (read: number): Promise<void> => noteRead(job, read)
    const copy = (some: boolean): Promise<CopiedRows> =>
      copyIndexRows(work, entry, { comparing: some, onPage })
    let copied = await copy(comparing)
    let { written } = copied
    while (!comparing && copied.freed > 0) {
      copied = await copy(true)
      written += copied.written
    }
    all.found += copied.found
    all.later += copied.later
    record.counts[comparing ? 'late' : entry.unique ? 'claims' : 'rows'] += written
    const isWhole = copied.later === 0 && copied.freed === 0
    all.isWhole &&= isWhole
    record.tables = [
      ...record.tables.filter((table) => table !== entry.table),
      ...(isWhole ? [entry.table] : []),
    ]
    await lease.saveDue()
  }
  return all
}

/**
 * Compares all copies with the source, and notes that they are the same. Throws `CONFLICT` for entities that differ. Waits for claims that the
 * target cannot take yet: once claims are taken there alone, it would give their keys to other entities.
 *
 * Resolves with false if the target has got rows of an index that was not copied whole before, such as claims that had to wait. Begin another
 * attempt then, and compare again: a target that loses these rows by a failover still has this attempt.
 */
export async function verifyCopies(job: MoveJob, copier: Copier): Promise<boolean> {
  const { context } = job.work
  const entities = await compareCopies(job, copier)
  const rows = await compareRows(job)
  if (rows === undefined) return false
  const at = context.time.now()
  job.lease.record.verified = { rows: entities + rows, at, by: processName, stale: false }
  return true
}

async function compareRows(job: MoveJob): Promise<number | undefined> {
  const { lease, work, tuning } = job
  for (;;) {
    const { tables } = lease.record
    const wereWhole = indexesOf(job).every(({ table }) => tables.includes(table))
    const { found, later, isWhole } = await copyAllRows(job, { comparing: true })
    const delayMs = deleteDelayMs(work.context)
    const restored = delayMs > 0 ? ', or that a failover may restore with their keys (deleteDelayMs)' : ''
    lease.record.waitsFor =
      later === 0 ? '' : `other entities that compete for ${later} of its claims${restored}`
    if (isWhole) return wereWhole ? found : undefined
    if (later > 0) await lease.sleep(Math.max(tuning.pollMs, delayMs))
  }
}

/**
 * Compares all entities that were copied with the source, and counts those of which the source has no row. Throws `CONFLICT` for any. Returns
 * how many it compared.
 */
export async function compareCopies(job: MoveJob, { attempt, buckets, place }: Copier): Promise<number> {
  const { work, lease } = job
  const { record } = lease
  const range = { after: placeAt(0), until: place.updated, buckets }
  const { compared, different } = await compareEntities(work, range, ({ read }) => noteRead(job, read))
  const target = await loadOwn(work.context, work.move.to, { signal: work.signal })
  const [coming] = ofMove(target.serves.coming, work.move.id)
  const extra = await countExtra(work, buckets, coming?.afterAddedId ?? 0)
  record.counts.compared += compared
  if (different + extra > 0) throw await differentCopies(job, attempt, different, extra)
  return compared
}

async function noteRead({ lease, meter }: MoveJob, rows: number): Promise<void> {
  meter.read(rows)
  meter.report()
  await lease.saveDue()
}

/** Counts the entities and index rows of the source, for the estimate of the time left. */
export async function countSource(job: MoveJob): Promise<number> {
  const { work, lease } = job
  const { context, move, signal } = work
  const source = shardAt(context, move.from)
  let { rows: total } = await source.entities.extent({ signal })
  for (const entry of indexesOf(job)) {
    await lease.saveDue()
    try {
      total += await source.index(tableSpec(entry)).count({ prefix: [] }, { signal })
    } catch (error) {
      // The index was dropped meanwhile.
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
    }
  }
  return total
}

/** Returns every index that may have rows. A process with an older catalog may still query a retiring one. */
function indexesOf({ work }: MoveJob): readonly CatalogEntry[] {
  return work.context.catalog.current().indexes
}
