import { chunks, distinctIds, elapsedBy, idKey } from '@looseleaf/core/internal'
import { keptRowsMs, keyIdentity, type EngineContext } from '@looseleaf/index-engine/internal'
import { deleteDelayMs, shardAt } from '@looseleaf/protocol/internal'
import { expectedIn } from '../look/derive-entity.ts'
import type { DanglingRow } from '../look/inspect.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { IDS_PER_LOOKUP } from '../tools/sizes.ts'

/**
 * Tracks lost rows that their writers are about to delete, so that the tail does not delete them a second time. The tail deletes only rows
 * that their writers have not deleted in time.
 */
export interface LeftToWriters {
  /** Tells whether this row is left to its writer for now. */
  leaves(found: DanglingRow): boolean
  /**
   * Looks up the rows whose writers are late. Returns the entities of the rows that still exist. These rows are no longer left to their
   * writers, until `done` is called.
   */
  overdue(targets: readonly IndexTarget[], signal: AbortSignal | undefined): Promise<readonly Uint8Array[]>
  /** Forgets the rows of `overdue`, after the tail has worked on them. */
  done(): void
}

interface TrackedRow {
  readonly shard: number
  readonly table: string
  readonly entityId: Uint8Array
  /** Time by which the writer should have deleted the row, by `elapsedBy`. */
  readonly due: number
}

/** Milliseconds that a delete of a writer may be late: writers batch deletes, and wait for statements in flight. */
const WRITER_LATE_MS = 1_000

/** Rows tracked at once, some 300 bytes each. Further rows are not left to their writers. */
const MAX_TRACKED = 20_000

export function createLeftToWriters(context: EngineContext): LeftToWriters {
  const elapsed = elapsedBy(context.time)
  /** Rows by `textOf`, in the order of `due`. */
  const tracked = new Map<string, TrackedRow>()
  const late = new Map<string, TrackedRow>()

  function takeDue(): Map<string, TrackedRow> {
    const now = elapsed()
    const due = new Map<string, TrackedRow>()
    for (const [text, row] of tracked) {
      if (row.due > now) break
      due.set(text, row)
    }
    return due
  }

  return {
    leaves({ entity, target, shard, row }) {
      // A writer deletes at once if the entity has no row left, and not at all if a failover may undo commits.
      if (expectedIn(entity, target).length === 0 || deleteDelayMs(context) > 0) return false
      const { table } = target.entry
      const text = textOf(shard, table, row)
      if (late.has(text)) return false
      if (tracked.has(text)) return true
      if (tracked.size >= MAX_TRACKED) return false
      const due = elapsed() + keptRowsMs(context.catalog.current()) + WRITER_LATE_MS
      tracked.set(text, { shard, table, entityId: row.entityId, due })
      return true
    },
    async overdue(targets, signal) {
      const due = takeDue()
      for (const [shard, rows] of Map.groupBy(due.values(), (row) => row.shard)) {
        const tables = new Set(rows.map(({ table }) => table))
        // An index that was dropped has no rows, so it is skipped.
        const existing = targets.filter(({ entry }) => tables.has(entry.table))
        const ids = distinctIds(rows.map(({ entityId }) => entityId))
        for (const chunk of chunks(ids, IDS_PER_LOOKUP)) {
          const specs = existing.map(({ spec }) => spec)
          const found = await shardAt(context, shard).rowsOf(specs, chunk, { signal })
          for (const [i, { entry }] of existing.entries())
            for (const row of found[i] ?? []) {
              const text = textOf(shard, entry.table, row)
              const overdueRow = due.get(text)
              if (overdueRow !== undefined) late.set(text, overdueRow)
            }
        }
      }
      for (const text of due.keys()) tracked.delete(text)
      return distinctIds(Array.from(late.values(), ({ entityId }) => entityId))
    },
    done: () => late.clear(),
  }
}

/** Identifies a row including its stamp, because a rewritten row counts as another one. */
function textOf(shard: number, table: string, { key, entityId, version }: DanglingRow['row']): string {
  return [shard, table, idKey(entityId), version, keyIdentity(key)].join(' ')
}
