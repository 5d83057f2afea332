import { elapsedBy, isLooseleafError, isVersion, type IndexRowRemoval } from '@looseleaf/core'
import { keptRowsMs, type EngineContext } from '@looseleaf/index-engine'
import { deleteDelayMs, learnPolicies, upTo, writeAgain } from '@looseleaf/protocol'
import { expectedIn } from '../look/derive-entity.ts'
import type { DanglingRow } from '../look/inspect.ts'
import { tableOn, type IndexTarget } from '../pass/index-target.ts'
import { chunks, ROWS_PER_WRITE } from '../tools/chunks.ts'
import { neededAgain } from './needed-again.ts'

/** How many rows of each index were deleted. */
export type RemovedRows = ReadonlyMap<IndexTarget, number>

/** Dangling rows to be deleted, each when no query can need it any more. */
export interface KeptRemovals {
  /**
   * A row that is to go unless it is stamped later than this version, which is committed for good. Kept from now on for as
   * long as a query may take, and left alone if its entity has it again by then; one of an entity that has no row in the
   * index any more is due at once.
   */
  add(found: DanglingRow, version: number): void
  /** Deletes the rows that are due; answers how many there were. */
  sendDue(signal: AbortSignal | undefined): Promise<RemovedRows>
  /** Waits until all are due, and deletes them; answers how many there were. `onWait` is called every `everyMs` meanwhile. */
  settle(
    signal: AbortSignal | undefined,
    waiting?: { readonly everyMs: number; onWait(): Promise<void> },
  ): Promise<RemovedRows>
  /** True while there are none that were added and not sent yet. */
  readonly isEmpty: boolean
  /** True when there are so many that they should be settled before more are added. */
  readonly isFull: boolean
}

interface Removal {
  readonly target: IndexTarget
  readonly shard: number
  readonly row: IndexRowRemoval
  /** The store's `deleteDelayMs` when the row was judged. */
  readonly delayMs: number
  /** By the clock of `elapsedBy`. */
  readonly due: number
}

/** Some 300 bytes each. */
const MAX_KEPT = 20_000

export function createKeptRemovals(context: EngineContext): KeptRemovals {
  const elapsed = elapsedBy(context.time)
  /** Those to be sent at once, and the others in the order in which they fall due. */
  let dueNow: Removal[] = []
  let kept: Removal[] = []
  const size = (): number => dueNow.length + kept.length

  /**
   * Whoever looked after an entity before this delete, and after a commit that has the row again, has found the row there.
   * From now on he finds that it is not.
   */
  async function putBack(
    { target, shard }: Removal,
    chunk: readonly Removal[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const needed = await neededAgain(context, chunk, signal)
    const rows = [...needed].flatMap(([{ row }, again]) =>
      isVersion(again.version) ? [{ key: row.key, entityId: row.entityId, ...again }] : [],
    )
    if (rows.length > 0) await writeAgain(context, target.entry, shard, rows, signal)
  }

  /** What cannot be deleted now is due again. */
  async function send(removals: readonly Removal[], signal: AbortSignal | undefined): Promise<RemovedRows> {
    const removed = new Map<IndexTarget, number>()
    const groups = Map.groupBy(removals, ({ target, shard }) => tableOn(target, shard))
    const results = await Promise.allSettled(
      Array.from(groups, async ([table, group]) => {
        const first = group[0] as Removal
        const { target } = first
        try {
          for (const chunk of chunks(group, ROWS_PER_WRITE)) {
            const count = await table.remove(
              chunk.map(({ row }) => row),
              { signal },
            )
            removed.set(target, (removed.get(target) ?? 0) + count)
            await putBack(first, chunk, signal)
          }
        } catch (error) {
          // Of an index that was dropped meanwhile nothing is left to be deleted.
          if (isLooseleafError(error, 'INDEX_NOT_FOUND')) return
          dueNow.push(...group)
          throw error
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
    return removed
  }

  /** Those of these that go by the policies of now as well: what was judged by a shorter `deleteDelayMs` stays for later cleaners. */
  async function stillDue(removals: readonly Removal[], signal: AbortSignal | undefined): Promise<Removal[]> {
    if (removals.length === 0) return []
    await learnPolicies(
      context,
      removals.map(({ row }) => row.entityId),
      signal,
    )
    const delayMs = deleteDelayMs(context)
    return removals.filter((removal) => removal.delayMs >= delayMs)
  }

  /** Those that were kept are looked at once more: for so long anybody may have written their entities. */
  async function sendUntil(time: number, signal: AbortSignal | undefined): Promise<RemovedRows> {
    const later = kept.findIndex(({ due }) => due > time)
    const ripe = later === -1 ? kept : kept.slice(0, later)
    kept = later === -1 ? [] : kept.slice(later)
    const now = dueNow
    dueNow = []
    const take = async (): Promise<Removal[]> => {
      const needed = await neededAgain(context, ripe, signal)
      return stillDue([...now, ...ripe.filter((removal) => !needed.has(removal))], signal)
    }
    const all = await take().catch((error: unknown) => {
      kept.unshift(...ripe)
      dueNow.unshift(...now)
      throw error
    })
    return send(all, signal)
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
        row: { key: row.key, entityId: row.entityId, before: upTo(version) },
        delayMs: deleteDelayMs(context),
      }
      if (expectedIn(entity, target).length === 0) dueNow.push({ ...removal, due: 0 })
      else kept.push({ ...removal, due: elapsed() + keptRowsMs(context.catalog.current()) })
    },
    sendDue: (signal) => sendUntil(elapsed(), signal),
    async settle(signal, waiting) {
      const removed = await sendUntil(elapsed(), signal)
      const last = kept.at(-1)
      if (last === undefined) return removed
      for (let left = last.due - elapsed(); left > 0;) {
        const pause = Math.min(left, waiting?.everyMs ?? Infinity)
        await context.time.sleep(pause, signal)
        left -= pause
        if (left > 0) await waiting?.onWait()
      }
      return sumOf(removed, await sendUntil(last.due, signal))
    },
  }
}

function sumOf(one: RemovedRows, other: RemovedRows): RemovedRows {
  return new Map([
    ...other,
    ...Array.from(one, ([target, count]) => [target, count + (other.get(target) ?? 0)] as const),
  ])
}
