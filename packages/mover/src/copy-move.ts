import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'
import type { CatalogEntry, CopiedEntity, CopiedRow } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import {
  compareEntities,
  copyEntities,
  copyIndexRows,
  copyTarget,
  countExtra,
  loadOwn,
  ofMove,
  openedTo,
  placeAt,
  processName,
  renewTarget,
  shardAt,
  type Attempt,
  type Copied,
  type CopyTarget,
} from '@looseleaf/protocol/internal'
import type { MoveJob } from './move-job.ts'
import type { MoveRecord } from './move-record.ts'

/** Changes of the target's catalog during one copy after which it gives up. */
const MAX_RENEWALS = 50

/** Sends copies by the target of an attempt, and gives it a new epoch after a change of its catalog, or a copy without an answer. */
export interface Copier {
  readonly attempt: Attempt
  /** The target of the last copies. */
  readonly target: CopyTarget
  /** The last copy since the target began with a group; undefined if there was none. */
  readonly last: CopiedEntity | undefined
  /** Connections to the target that were opened before all copies of this copier. Undefined if its driver does not count them. */
  readonly opened: number | undefined
  copy<T extends Copied>(send: (target: CopyTarget) => Promise<T>): Promise<T>
  /**
   * Begins another pass. Each pass has an entity once at most, and the target keeps the copy of a later pass. Two statements if the pass before
   * has copied anything, so call it before a seal.
   */
  beginPass(): Promise<void>
  /** Goes on after the target has begun with a group. Sends further copies to `next`, if the mover itself has changed the target's catalog. */
  goOn(next: CopyTarget | undefined): void
}

export function createCopier({ work }: MoveJob, attempt: Attempt, begun: CopyTarget): Copier {
  let target = begun
  let isUsed = false
  let last: CopiedEntity | undefined
  return {
    attempt,
    opened: openedTo(shardAt(work.context, work.move.to)),
    get target() {
      return target
    },
    get last() {
      return last
    },
    goOn(next) {
      last = undefined
      if (next === undefined) return
      target = next
      isUsed = false
    },
    async beginPass() {
      if (isUsed) target = await copyTarget(work, target.epoch)
      isUsed = false
    },
    async copy(send) {
      for (let renewals = 0; ; renewals++) {
        try {
          const { updated } = target
          // A copy that fails later may have sent some rows before.
          const onReceived = (copies: readonly CopiedRow[]): void => {
            const row = copies.at(-1)
            if (row !== undefined) last = { id: formatId(row.id), updated }
          }
          const done = await send({ ...target, onReceived })
          isUsed ||= done.copied > 0
          return done
        } catch (error) {
          if (!isLooseleafError(error, 'STALE_EPOCH') || renewals >= MAX_RENEWALS) throw error
          target = await renewTarget(work, attempt.attempt)
          isUsed = false
        }
      }
    },
  }
}

/**
 * Copies the entities of these buckets up to a floor that it raises, and advances the place to it. Returns how many rows it copied. The
 * source must still have all of the buckets: a copy would overwrite what the target has accepted since they were handed over.
 */
export async function copyRound(job: MoveJob, copier: Copier, buckets: string): Promise<number> {
  const { work, lease } = job
  const { record } = lease
  await copier.beginPass()
  const until = await shardAt(work.context, work.move.from).entities.raiseFloor({ signal: work.signal })
  let copies = 0
  await copier.copy((target) =>
    copyEntities(work, { after: record.place, until, buckets }, target, async ({ place, read, copied }) => {
      record.place = place
      record.counts.entities += copied
      copies += copied
      await noteRead(job, read)
    }),
  )
  record.place = placeAt(until)
  if (copies > 0 && record.verified !== undefined) record.verified = { ...record.verified, stale: true }
  return copies
}

/** Copies entities until a round is small. Busy buckets are not waited for: each round is shorter than the one before it, or as short as possible. */
export async function copyRounds(job: MoveJob, copier: Copier): Promise<void> {
  for (let before = Infinity; ;) {
    const copies = await copyRound(job, copier, copier.attempt.buckets)
    if (copies <= job.tuning.smallRound || copies > before / 2) return
    before = copies
  }
}

/**
 * Copies the rows of every index and the claims of every unique one; with `comparing`, only those that are missing on the target. Returns how
 * many rows and claims the move has.
 */
export async function copyAllRows(
  job: MoveJob,
  { comparing }: { readonly comparing: boolean },
): Promise<number> {
  const { work, lease } = job
  const { record } = lease
  let all = 0
  for (const entry of indexesOf(job)) {
    if (!comparing && record.tables.includes(entry.table)) continue
    const onPage = (read: number): Promise<void> => noteRead(job, read)
    const { found, written } = await copyIndexRows(work, entry, { comparing, onPage })
    all += found
    record.counts[comparing ? 'late' : entry.unique ? 'claims' : 'rows'] += written
    if (!comparing) record.tables.push(entry.table)
    await lease.saveDue()
  }
  return all
}

/** Compares all copies with the source, and notes that they are the same. Throws `CONFLICT` for entities that differ. */
export async function verifyCopies(job: MoveJob, copier: Copier): Promise<void> {
  const { context } = job.work
  const entities = await compareCopies(job, copier)
  const rows = await copyAllRows(job, { comparing: true })
  const at = context.time.now()
  job.lease.record.verified = { rows: entities + rows, at, by: processName, stale: false }
}

/**
 * Compares all entities that were copied with the source, and counts those of which the source has no row. Throws `CONFLICT` for any. Returns
 * how many it compared.
 */
async function compareCopies(job: MoveJob, { attempt: { buckets } }: Copier): Promise<number> {
  const { work, lease } = job
  const { record } = lease
  const range = { after: placeAt(0), until: record.place.updated, buckets }
  const { compared, different } = await compareEntities(work, range, ({ read }) => noteRead(job, read))
  const target = await loadOwn(work.context, work.move.to, { signal: work.signal })
  const [coming] = ofMove(target.serves.coming, work.move.id)
  const extra = await countExtra(work, buckets, coming?.afterAddedId ?? 0)
  record.counts.compared += compared
  if (different + extra > 0) throw await differentCopies({ lease }, work.move.id, different, extra)
  return compared
}

async function noteRead({ lease, meter }: MoveJob, rows: number): Promise<void> {
  meter.read(rows)
  meter.report()
  await lease.saveDue()
}

/** Makes the error of copies that differ, and lets the next attempt copy everything anew. */
export async function differentCopies(
  { lease }: Pick<MoveJob, 'lease'>,
  move: number,
  different: number,
  extra: number,
): Promise<LooseleafError> {
  const fresh: Partial<MoveRecord> = { step: 'copying', cleared: false, place: placeAt(0), tables: [] }
  Object.assign(lease.record, fresh, { verified: undefined })
  await lease.save()
  return new LooseleafError(
    'CONFLICT',
    `Move ${move}: ${different} copies differ from their entities, and ${extra} have no entity. Nothing was handed over. Another program writes to the target, or it was restored. Call shards.repair to copy everything again, or undo the move.`,
  )
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
