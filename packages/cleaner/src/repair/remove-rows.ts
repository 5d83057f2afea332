import { deleteDelayMs, mayBeLost } from '@looseleaf/protocol'
import type { DerivedEntity } from '../look/derive-entity.ts'
import type { DanglingRow } from '../look/inspect.ts'
import type { Pass } from '../pass/pass.ts'
import { fenceEntity } from './fence-entity.ts'
import { movedOrUndone } from './on-disk.ts'
import { countRemoved, type RepairPass } from './repair-pass.ts'

export interface RemovalOutcome {
  /** Rows that may belong to a writer in flight: to be looked at again when their grace is over. */
  readonly waiting: readonly DanglingRow[]
  /** Rows whose entity was written by others meanwhile: to be looked at again now. */
  readonly moved: readonly DanglingRow[]
}

/**
 * Deletes dangling rows by the third law. A row with a stamp up to the version v that was read, committed, without it:
 * nobody who can still commit has written it, since such a writer stamps its rows above v. So it is deleted
 * `WHERE version <= v`, which spares it if somebody stamps it higher in this very moment. A row with a later stamp
 * belongs to an attempt that is under way or has died: it is left alone while it is young, then the entity is fenced,
 * and with the fence's version as v the first case holds.
 *
 * A row of an entity that has other rows in the index is kept for as long as a query may take: one that began before the
 * entity moved may have passed by its new row already. Whoever calls this sees to it that `pass.removals` are sent then.
 * Where `pass.leaves` it to its writer, nothing is done about it.
 *
 * It does not matter whether the entity or the row was read first, nor how long ago: the guard is in the delete.
 * Exhaustive checks of the interleavings of writers, crashes and cleaners of both orders find no row missing.
 *
 * `readAt`: the time before the entities were read, in milliseconds.
 */
export async function removeRows(
  pass: RepairPass,
  dangling: readonly DanglingRow[],
  readAt: number,
): Promise<RemovalOutcome> {
  const waiting: DanglingRow[] = []
  const moved: DanglingRow[] = []
  const earlier: DanglingRow[] = []
  const later = new Map<DerivedEntity, DanglingRow[]>()
  for (const found of dangling) {
    const { entity, row } = found
    if (mayBeLost(pass.context, entity, readAt)) waiting.push(found)
    else if (row.version <= entity.version) {
      if (pass.leaves?.(found) !== true) earlier.push(found)
    } else if (isYoung(pass, row.version)) waiting.push(found)
    else later.set(entity, [...(later.get(entity) ?? []), found])
  }
  // What was read is no ground to delete anything while a crash may undo it. A fence comes after the reading as well.
  const undone = new Set(await movedOrUndone(pass, [...new Set(earlier.map(({ entity }) => entity))]))
  for (const found of earlier) {
    if (undone.has(found.entity)) moved.push(found)
    else pass.removals.add(found, found.entity.version)
  }
  for (const [entity, rows] of later) {
    const stamp = Math.max(...rows.map(({ row }) => row.version))
    const version = await fenceEntity(pass, entity, stamp, pass.tallyOf((rows[0] as DanglingRow).target))
    if (version === undefined) moved.push(...rows)
    else if (deleteDelayMs(pass.context) > 0) waiting.push(...rows)
    else for (const found of rows) pass.removals.add(found, version)
  }
  for (const { target } of waiting) pass.tallyOf(target).waiting++
  countRemoved(pass, await pass.removals.sendDue(pass.signal))
  return { waiting, moved }
}

/**
 * Stamps are microseconds of the writers' clocks. One that lies further ahead than the grace says nothing about the
 * row's age: then it is not young, for a fence does no harm, it only makes a writer try again.
 */
function isYoung(pass: Pass, stamp: number): boolean {
  const age = pass.time.now() - stamp / 1000
  return Math.abs(age) < pass.graceMs
}
