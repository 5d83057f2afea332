import type { CallOptions } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { fence } from './fence.ts'
import { sendByTable, type PlacedKey, type RowLanesOf } from './index-rows.ts'
import { movedOrUndone, type SeenEntity } from './on-disk.ts'
import { deleteDelayMs, mayBeLost } from './policies.ts'

/**
 * Law 3 for writers: deletes the rows that an entity has lost by the commit of this version, if their stamp is lower. A row with this
 * stamp is of this attempt, one with a greater stamp of a later one.
 *
 * Deletes on the shards of this moment's catalog. If a move was announced since the attempt, these include the shards of the attempt. If one
 * has ended since, the move deletes what is left on the other shard.
 */
export async function deleteLost(
  context: EngineContext,
  lanesOf: RowLanesOf,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  version: number,
): Promise<void> {
  const { placement } = context.catalog.current()
  const [failure] = await sendByTable(context, lanesOf, placement, rows, entityId, ({ remove }, group) =>
    remove.submitAll(group.map(({ key }) => ({ key, entityId, before: version }))),
  )
  if (failure !== undefined) throw failure.error
}

/**
 * Returns the `before` of a delete after an entity was read at this committed version without the row. Includes the version itself: an
 * attempt that can still commit has a greater version, so it has not stamped the row with this one.
 */
export function upTo(version: number): number {
  return version + 1
}

/** A row that does not match its entity. */
interface Dangling {
  readonly row: IndexRow
  /** The entity as it was read. */
  readonly entity: SeenEntity & { readonly updated: number }
}

export interface JudgeOptions<Found> extends CallOptions {
  /** Time before the entities were read, in milliseconds since 1970. */
  readonly readAt: number
  /** Milliseconds after its stamp in which a row ahead of its entity may belong to an attempt in flight. */
  readonly graceMs: number
  /** Tells whether a row with a stamp up to its entity's version is left to its writer. */
  readonly leaves: ((found: Found) => boolean) | undefined
  /** Called with a row that may be deleted, unless its stamp is greater than this version by then. */
  onCleared(found: Found, version: number): void
  /** Called with the first row of each fenced entity. */
  onFenced(found: Found): void
}

/** Rows that must not be deleted yet. */
export interface Judged<Found> {
  /** Rows to look at again later: they may belong to a writer in flight, or a failover may undo the version that was read. */
  readonly waiting: readonly Found[]
  /** Rows to look at again now: another write has changed their entity. */
  readonly moved: readonly Found[]
}

/**
 * Law 3 for cleaners: decides which dangling rows may be deleted. The entity was read at the committed version v, without the row.
 * - The row's stamp is at most v: it may be deleted `WHERE version <= v` (`upTo`). The condition spares a row that an attempt
 *   stamps with a greater version at the same moment.
 * - The row's stamp is greater: an attempt that is in flight or has died wrote it. The row waits while it is young. Then the entity is
 *   fenced, and the first case applies with the version of the fence as v.
 *
 * The order and the age of the two reads do not matter, because the delete has the condition. Exhaustive checks of the
 * interleavings of writers, crashes and cleaners, with either order of reads, find no missing row.
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
  // 1. A cleaner reads a version that is not on disk. 2. It deletes a row by that version. 3. A crash undoes the version, and the entity
  // has the key of the deleted row again. So the version has to be on disk before the delete. A fence is such a check too.
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
 * Tells whether a row's stamp is within the grace time. Stamps are microseconds of the writers' clocks. A stamp further ahead than the
 * grace time does not tell the age, so the row counts as old: a fence does no harm, it only makes a writer retry.
 */
export function isYoung({ time }: Pick<EngineContext, 'time'>, stamp: number, graceMs: number): boolean {
  return Math.abs(time.now() - stamp / 1000) < graceMs
}
