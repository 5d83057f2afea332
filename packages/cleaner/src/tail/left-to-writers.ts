import { distinctIds, elapsedBy, idKey } from '@looseleaf/core'
import { keptRowsMs, keyIdentity, type EngineContext } from '@looseleaf/index-engine'
import { deleteDelayMs, shardAt } from '@looseleaf/protocol'
import { expectedIn } from '../look/derive-entity.ts'
import type { DanglingRow } from '../look/inspect.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { chunks, IDS_PER_LOOKUP } from '../tools/chunks.ts'

/**
 * Dangling rows that their writers are about to delete: those that entities have lost which have moved. To delete them
 * here as well would be all of that work twice. What its writer has not deleted in time is for the cleaner.
 */
export interface LeftToWriters {
  /** Whether this row is left to its writer for now. */
  leaves(found: DanglingRow): boolean
  /**
   * Looks up the rows whose writers have had their time. Answers the entities of those that are still there, which are
   * not left any more until `done` is called.
   */
  overdue(targets: readonly IndexTarget[], signal: AbortSignal | undefined): Promise<readonly Uint8Array[]>
  /** What was overdue is dealt with. */
  done(): void
}

interface LeftRow {
  readonly shard: number
  readonly table: string
  readonly entityId: Uint8Array
  /** By the clock of `elapsedBy`. */
  readonly due: number
}

/** Writers delete together what falls due within moments, and may have to wait for a statement in flight. */
const WRITER_LATE_MS = 1_000

/** Some 300 bytes each; what is beyond is not left to its writer. */
const MAX_LEFT = 20_000

export function createLeftToWriters(context: EngineContext): LeftToWriters {
  const elapsed = elapsedBy(context.time)
  /** By `textOf`, in the order in which they fall due. */
  const left = new Map<string, LeftRow>()
  const late = new Map<string, LeftRow>()

  function takeDue(): Map<string, LeftRow> {
    const now = elapsed()
    const due = new Map<string, LeftRow>()
    for (const [text, row] of left) {
      if (row.due > now) break
      due.set(text, row)
    }
    return due
  }

  return {
    leaves({ entity, target, shard, row }) {
      // Writers delete at once where an entity has no row any more, and not at all where a failover may undo commits.
      if (expectedIn(entity, target).length === 0 || deleteDelayMs(context) > 0) return false
      const { table } = target.entry
      const text = textOf(shard, table, row)
      if (late.has(text)) return false
      if (left.has(text)) return true
      if (left.size >= MAX_LEFT) return false
      const due = elapsed() + keptRowsMs(context.catalog.current()) + WRITER_LATE_MS
      left.set(text, { shard, table, entityId: row.entityId, due })
      return true
    },
    async overdue(targets, signal) {
      const due = takeDue()
      for (const [shard, rows] of Map.groupBy(due.values(), (row) => row.shard)) {
        const tables = new Set(rows.map(({ table }) => table))
        // Of an index that was dropped meanwhile nothing is left to be deleted.
        const asked = targets.filter(({ entry }) => tables.has(entry.table))
        const ids = distinctIds(rows.map(({ entityId }) => entityId))
        for (const some of chunks(ids, IDS_PER_LOOKUP)) {
          const specs = asked.map(({ spec }) => spec)
          const found = await shardAt(context, shard).rowsOf(specs, some, { signal })
          for (const [i, { entry }] of asked.entries())
            for (const row of found[i] ?? []) {
              const text = textOf(shard, entry.table, row)
              const still = due.get(text)
              if (still !== undefined) late.set(text, still)
            }
        }
      }
      for (const text of due.keys()) left.delete(text)
      return distinctIds(Array.from(late.values(), ({ entityId }) => entityId))
    },
    done: () => late.clear(),
  }
}

/** With its stamp: a row that was written again is another one. */
function textOf(shard: number, table: string, { key, entityId, version }: DanglingRow['row']): string {
  return [shard, table, idKey(entityId), version, keyIdentity(key)].join(' ')
}
