import type { CallOptions, IndexRow } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { fence } from './fence.ts'
import { sendByTable, type PlacedKey, type RowLanesOf } from './index-rows.ts'
import { movedOrUndone, type SeenEntity } from './on-disk.ts'
import { deleteDelayMs, mayBeLost } from './policies.ts'

/**
 * Law 3 of a writer: deletes the rows of keys that its entity has lost, if their stamp is lower than this version, its own
 * commit. One with this stamp or a later one is a later attempt's.
 */
export async function deleteLost(
  context: EngineContext,
  lanesOf: RowLanesOf,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  version: number,
): Promise<void> {
  const [failure] = await sendByTable(context, lanesOf, rows, entityId, ({ remove }, group) =>
    remove.submitAll(group.map(({ key }) => ({ key, entityId, before: version }))),
  )
  if (failure !== undefined) throw failure.error
}

/**
 * The `before` of a delete by who has read the entity at this version, committed, without the row: nobody who can still commit
 * has stamped the row with it, for such an attempt has a greater version.
 */
export function upTo(version: number): number {
  return version + 1
}

/** A row that its entity does not have. */
interface Dangling {
  readonly row: IndexRow
  /** As it was read. */
  readonly entity: SeenEntity & { readonly updated: number }
}

export interface JudgeOptions<Found> extends CallOptions {
  /** The time before the entities were read, in milliseconds. */
  readonly readAt: number
  /** For so long after its stamp a row that is ahead of its entity may belong to an attempt under way. */
  readonly graceMs: number
  /** Whether a row with no later stamp than its entity is left to its writer. */
  readonly leaves: ((found: Found) => boolean) | undefined
  /** Called with a row that may be deleted from now on, unless it is stamped later than this version. */
  onCleared(found: Found, version: number): void
  /** Called with the first row of an entity that was fenced. */
  onFenced(found: Found): void
}

/** Rows that may not be deleted. */
export interface Judged<Found> {
  /** They may belong to a writer in flight, or a failover may undo what was read: to be looked at again later. */
  readonly waiting: readonly Found[]
  /** Their entity was written by others meanwhile: to be looked at again now. */
  readonly moved: readonly Found[]
}

/**
 * Law 3 of a cleaner: says which dangling rows may be deleted. A row with a stamp up to the version v that was read,
 * committed, without it may go `WHERE version <= v` (`upTo`), which spares it if somebody stamps it higher in this very
 * moment. A row with a later stamp belongs to an attempt that is under way or has died: it is left alone while it is young,
 * then the entity is fenced, and with the fence's version as v the first case holds.
 *
 * It does not matter whether the entity or the row was read first, nor how long ago: the guard is in the delete.
 * Exhaustive checks of the interleavings of writers, crashes and cleaners of both orders find no row missing.
 */
export async function judgeDangling<Found extends Dangling>(
  context: EngineContext,
  dangling: readonly Found[],
  { readAt, graceMs, leaves, onCleared, onFenced, signal }: JudgeOptions<Found>,
): Promise<Judged<Found>> {
  const waiting: Found[] = []
  const moved: Found[] = []
  const earlier: Found[] = []
  const later: Found[] = []
  for (const found of dangling) {
    const { entity, row } = found
    if (mayBeLost(context, entity, readAt)) waiting.push(found)
    else if (row.version <= entity.version) {
      if (leaves?.(found) !== true) earlier.push(found)
    } else if (isYoung(context, row.version, graceMs)) waiting.push(found)
    else later.push(found)
  }
  // What was read is no ground to delete anything while a crash may undo it. A fence comes after the reading as well.
  const seen = [...new Set(earlier.map(({ entity }) => entity))]
  const undone = new Set(await movedOrUndone(context, seen, { signal }))
  for (const found of earlier) {
    if (undone.has(found.entity)) moved.push(found)
    else onCleared(found, found.entity.version)
  }
  for (const [entity, rows] of Map.groupBy(later, (found) => found.entity)) {
    const stamp = Math.max(...rows.map(({ row }) => row.version))
    const version = await fence(context, entity, stamp, { signal })
    if (version === undefined) {
      moved.push(...rows)
      continue
    }
    onFenced(rows[0] as Found)
    if (deleteDelayMs(context) > 0) waiting.push(...rows)
    else for (const found of rows) onCleared(found, version)
  }
  return { waiting, moved }
}

/**
 * Stamps are microseconds of the writers' clocks. One that lies further ahead than the grace says nothing about the
 * row's age: then it is not young, for a fence does no harm, it only makes a writer try again.
 */
function isYoung({ time }: EngineContext, stamp: number, graceMs: number): boolean {
  return Math.abs(time.now() - stamp / 1000) < graceMs
}
