import type { IndexRowRemoval } from '@looseleaf/core'
import { chunks } from './chunks.ts'
import type { DerivedEntity } from './derive-entity.ts'
import { fence } from './fence.ts'
import { tableOn, type IndexTarget } from './index-target.ts'
import type { DanglingRow } from './inspect.ts'
import { mayBeLost } from './may-be-lost.ts'
import { flushShards } from './flush-shards.ts'
import type { Pass } from './pass.ts'
import { idsByShard } from './read-entities.ts'

export interface RemovalOutcome {
  /** Rows that may belong to a writer in flight: to be looked at again when their grace is over. */
  readonly waiting: readonly DanglingRow[]
  /** Rows whose entity was written by others meanwhile: to be looked at again now. */
  readonly moved: readonly DanglingRow[]
}

/** Rows per statement. */
const ROWS_PER_WRITE = 500

/**
 * Deletes dangling rows by the third law. A row with a stamp up to the version v that was read, committed, without it:
 * nobody who can still commit has written it, since such a writer stamps its rows above v. So it is deleted
 * `WHERE version <= v`, which spares it if somebody stamps it higher in this very moment. A row with a later stamp
 * belongs to an attempt that is under way or has died: it is left alone while it is young, then the entity is fenced,
 * and with the fence's version as v the first case holds.
 *
 * It does not matter whether the entity or the row was read first, nor how long ago: the guard is in the delete.
 * Exhaustive checks of the interleavings of writers, crashes and cleaners of both orders find no row missing.
 *
 * `readAt`: the time before the entities were read, in milliseconds.
 */
export async function removeRows(
  pass: Pass,
  dangling: readonly DanglingRow[],
  readAt: number,
): Promise<RemovalOutcome> {
  const waiting: DanglingRow[] = []
  const moved: DanglingRow[] = []
  const removals = createRemovals()
  const later = new Map<DerivedEntity, DanglingRow[]>()
  for (const found of dangling) {
    const { entity, row } = found
    if (mayBeLost(pass, entity, readAt)) waiting.push(found)
    else if (row.version <= entity.version) removals.add(found, entity.version)
    else if (isYoung(pass, row.version)) waiting.push(found)
    else later.set(entity, [...(later.get(entity) ?? []), found])
  }
  for (const [entity, rows] of later) {
    const version = await fence(pass, entity, Math.max(...rows.map(({ row }) => row.version)))
    if (version === undefined) moved.push(...rows)
    else if (pass.context.deleteDelayMs > 0) waiting.push(...rows)
    else for (const found of rows) removals.add(found, version)
  }
  pass.tally.waiting += waiting.length
  await removals.send(pass)
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

interface Removals {
  add(found: DanglingRow, version: number): void
  send(pass: Pass): Promise<void>
}

/** Collects deletes by table and shard. */
function createRemovals(): Removals {
  const groups = new Map<IndexTarget, Map<number, IndexRowRemoval[]>>()
  const ids: Uint8Array[] = []
  return {
    add({ target, shard, row, entity }, version) {
      ids.push(entity.id)
      const shards = groups.get(target) ?? new Map<number, IndexRowRemoval[]>()
      groups.set(target, shards)
      const group = shards.get(shard) ?? []
      shards.set(shard, group)
      group.push({ key: row.key, entityId: row.entityId, before: version + 1 })
    },
    async send(pass) {
      // What was read of the entities is no ground to delete anything while a crash of their server may undo it.
      await flushShards(pass.context, idsByShard(pass, ids).keys(), pass.signal)
      await Promise.all(
        [...groups].flatMap(([target, shards]) =>
          [...shards].map(async ([shard, group]) => {
            for (const chunk of chunks(group, ROWS_PER_WRITE)) {
              pass.tally.removed += await tableOn(target, shard).remove(chunk, { signal: pass.signal })
            }
          }),
        ),
      )
    },
  }
}
