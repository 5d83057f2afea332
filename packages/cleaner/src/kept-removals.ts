import { elapsedBy, type IndexRowRemoval } from '@looseleaf/core'
import { keptRowsMs, type EngineContext } from '@looseleaf/index-engine'
import { chunks } from './chunks.ts'
import { thoseOnDisk } from './on-disk.ts'
import { tableOn, type IndexTarget } from './index-target.ts'
import type { DanglingRow } from './inspect.ts'

/** Dangling rows to be deleted, each when no query can need it any more. */
export interface KeptRemovals {
  /**
   * A row that is to go unless it is stamped later than this version, which was read as committed. Kept from now on for as
   * long as a query may take; one of an entity that has no row in the index any more is due at once.
   */
  add(found: DanglingRow, version: number): void
  /**
   * The cleaner itself has raised the version of an entity and changed nothing else, so what was to go by the version
   * before goes by this one.
   */
  fenced(entityId: Uint8Array, before: number, version: number): void
  /** Deletes the rows that are due; answers how many there were. */
  sendDue(signal: AbortSignal | undefined): Promise<number>
  /** Waits until all are due, and deletes them; answers how many there were. `onWait` is called every `everyMs` meanwhile. */
  settle(
    signal: AbortSignal | undefined,
    waiting?: { readonly everyMs: number; onWait(): Promise<void> },
  ): Promise<number>
  /** True while there are none that were added and not sent yet. */
  readonly isEmpty: boolean
  /** True when there are so many that no more should be added. */
  readonly isFull: boolean
}

interface Removal {
  readonly target: IndexTarget
  readonly shard: number
  /** The version of the entity that is the ground for it. */
  version: number
  readonly row: IndexRowRemoval
  /** By the clock of `elapsedBy`. */
  readonly due: number
}

/** Rows per statement. */
const ROWS_PER_WRITE = 500

/** Some 300 bytes each. */
const MAX_KEPT = 20_000

export function createKeptRemovals(context: EngineContext): KeptRemovals {
  const elapsed = elapsedBy(context.time)
  /** Those to be sent at once, and the others in the order in which they fall due. */
  let dueNow: Removal[] = []
  let kept: Removal[] = []
  const size = (): number => dueNow.length + kept.length

  /** What cannot be sent is due again. */
  async function send(removals: readonly Removal[], signal: AbortSignal | undefined): Promise<number> {
    if (removals.length === 0) return 0
    try {
      return await remove(removals, signal)
    } catch (error) {
      dueNow.push(...removals)
      throw error
    }
  }

  async function remove(removals: readonly Removal[], signal: AbortSignal | undefined): Promise<number> {
    const staying = await thoseOnDisk(context, removals, signal)
    const groups = Map.groupBy(staying, ({ target, shard }) => tableOn(target, shard))
    const removed = await Promise.all(
      Array.from(groups, async ([table, group]) => {
        let count = 0
        for (const chunk of chunks(group, ROWS_PER_WRITE)) {
          count += await table.remove(
            chunk.map(({ row }) => row),
            { signal },
          )
        }
        return count
      }),
    )
    return removed.reduce((sum, count) => sum + count, 0)
  }

  function takeUntil(time: number): Removal[] {
    const later = kept.findIndex(({ due }) => due > time)
    const ripe = later === -1 ? kept : kept.slice(0, later)
    kept = later === -1 ? [] : kept.slice(later)
    const all = [...dueNow, ...ripe]
    dueNow = []
    return all
  }

  return {
    get isEmpty() {
      return size() === 0
    },
    get isFull() {
      return size() >= MAX_KEPT
    },
    add({ target, shard, row, entity }, version) {
      const removal = {
        target,
        shard,
        version,
        row: { key: row.key, entityId: row.entityId, before: version + 1 },
      }
      const isGone = (entity.expected?.get(target)?.length ?? 0) === 0
      if (isGone) dueNow.push({ ...removal, due: 0 })
      else kept.push({ ...removal, due: elapsed() + keptRowsMs(context.catalog.current()) })
    },
    fenced(entityId, before, version) {
      for (const removal of [...dueNow, ...kept]) {
        const isOfEntity = Buffer.compare(removal.row.entityId, entityId) === 0
        if (isOfEntity && removal.version === before) removal.version = version
      }
    },
    sendDue: (signal) => send(takeUntil(elapsed()), signal),
    async settle(signal, waiting) {
      let removed = await send(takeUntil(elapsed()), signal)
      const last = kept.at(-1)
      if (last === undefined) return removed
      for (let left = last.due - elapsed(); left > 0;) {
        const pause = Math.min(left, waiting?.everyMs ?? Infinity)
        await context.time.sleep(pause, signal)
        left -= pause
        if (left > 0) await waiting?.onWait()
      }
      removed += await send(takeUntil(last.due), signal)
      return removed
    },
  }
}
