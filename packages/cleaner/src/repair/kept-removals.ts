import { isLooseleafError } from '@looseleaf/core'
import { chunks, elapsedBy, isVersion, type IndexRowRemoval, type IndexTable } from '@looseleaf/core/internal'
import { keptRowsMs, shardsOfRow, type EngineContext } from '@looseleaf/index-engine/internal'
import { deleteDelayMs, learnPolicies, upTo, writeAgain } from '@looseleaf/protocol/internal'
import { expectedIn } from '../look/derive-entity.ts'
import type { DanglingRow } from '../look/inspect.ts'
import { tableOn, type IndexTarget } from '../pass/index-target.ts'
import { ROWS_PER_WRITE } from '../tools/sizes.ts'
import { neededAgain } from './needed-again.ts'

/** Called with the number of rows after each statement that has deleted some. The call that sent it may still fail. */
type OnRemoved = (target: IndexTarget, count: number) => void

/** Dangling rows that will be deleted, each once no query can need it. */
export interface KeptRemovals {
  /**
   * Schedules the delete of a row, unless the row is then stamped later than this version, which no crash or failover can undo. The row is due
   * after the time that a query may take, and stays if its entity has it again by then. If the entity has no row left in the index, the row
   * is due at once.
   */
  add(found: DanglingRow, version: number): void
  /** Deletes the rows that are due. */
  sendDue(signal: AbortSignal | undefined): Promise<void>
  /** Waits until all rows are due, and deletes them. Calls `onWait` every `everyMs` milliseconds of the wait. */
  settle(
    signal: AbortSignal | undefined,
    waiting?: { readonly everyMs: number; onWait(): Promise<void> },
  ): Promise<void>
  /** True if no row waits for its delete. */
  readonly isEmpty: boolean
  /** True if the rows should be settled before more are added. */
  readonly isFull: boolean
}

interface Removal {
  readonly target: IndexTarget
  readonly shard: number
  readonly row: IndexRowRemoval
  /**
   * Epoch of the shard by which a row was judged to be on the wrong shard; undefined for a row that its entity does not have. If a move
   * brings the buckets of the row back to this shard, the row is needed again although its stamp is old.
   */
  readonly epoch: number | undefined
  /** The store's `deleteDelayMs` when the row was judged. */
  readonly delayMs: number
  /** Time of the delete, by `elapsedBy`. */
  readonly due: number
}

/** Rows that wait at once, some 300 bytes each. */
const MAX_KEPT = 20_000

export function createKeptRemovals(context: EngineContext, onRemoved: OnRemoved = () => {}): KeptRemovals {
  const elapsed = elapsedBy(context.time)
  let dueNow: Removal[] = []
  /** Later removals, in the order of their times. */
  let kept: Removal[] = []
  const size = (): number => dueNow.length + kept.length

  /**
   * Writes rows again that their entities need after all. Without this, a row could go missing:
   * 1. A removal is due; the committed entity does not have the row.
   * 2. A writer commits the row again, before it writes its rows. Another cleaner looks, finds the old row, and adds none.
   * 3. The old row is deleted. If the writer dies here, no process would add the row.
   * So the entities are read once more after the delete.
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

  /** Deletes these rows. Rows whose delete fails stay due. */
  async function send(removals: readonly Removal[], signal: AbortSignal | undefined): Promise<void> {
    const groups = Map.groupBy(removals, ({ target, shard }) => tableOn(target, shard))
    const results = await Promise.allSettled(
      Array.from(groups, async ([table, group]) => {
        const first = group[0] as Removal
        try {
          for (const chunk of chunksByEpoch(group)) {
            const count = await removeUnlessChanged(table, chunk, signal)
            if (count > 0) onRemoved(first.target, count)
            await putBack(first, chunk, signal)
          }
        } catch (error) {
          // The index was dropped, so its rows are gone.
          if (isLooseleafError(error, 'INDEX_NOT_FOUND')) return
          dueNow.push(...group)
          throw error
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** Drops removals that were judged by a shorter `deleteDelayMs` than the current one; a later cleaner judges these rows again. */
  async function validRemovals(
    removals: readonly Removal[],
    signal: AbortSignal | undefined,
  ): Promise<Removal[]> {
    if (removals.length === 0) return []
    await learnPolicies(
      context,
      removals.map(({ row }) => row.entityId),
      signal,
    )
    const delayMs = deleteDelayMs(context)
    return removals.filter((removal) => removal.delayMs >= delayMs)
  }

  /** Deletes the rows that are due by this time. Reads the entities of kept rows again, because they may have been written in between. */
  async function sendUntil(time: number, signal: AbortSignal | undefined): Promise<void> {
    const firstLater = kept.findIndex(({ due }) => due > time)
    const keptDue = firstLater === -1 ? kept : kept.slice(0, firstLater)
    kept = firstLater === -1 ? [] : kept.slice(firstLater)
    const now = dueNow
    dueNow = []
    const select = async (): Promise<Removal[]> => {
      const needed = await neededAgain(context, keptDue, signal)
      return validRemovals([...now, ...keptDue.filter((removal) => !needed.has(removal))], signal)
    }
    const removals = await select().catch((error: unknown) => {
      kept.unshift(...keptDue)
      dueNow.unshift(...now)
      throw error
    })
    await send(removals, signal)
  }

  return {
    get isEmpty() {
      return size() === 0
    },
    get isFull() {
      return size() >= MAX_KEPT
    },
    add({ target, shard, row, entity, misplaced }, version) {
      const { epochs, placement } = context.catalog.current()
      // By a newer catalog the row may be at its place.
      if (misplaced && shardsOfRow(target.entry, placement, row.key, row.entityId).includes(shard)) return
      const removal = {
        target,
        shard,
        epoch: misplaced ? epochs[shard] : undefined,
        row: { key: row.key, entityId: row.entityId, before: upTo(version) },
        delayMs: deleteDelayMs(context),
      }
      if (expectedIn(entity, target).length === 0) dueNow.push({ ...removal, due: 0 })
      else kept.push({ ...removal, due: elapsed() + keptRowsMs(context.catalog.current()) })
    },
    sendDue: (signal) => sendUntil(elapsed(), signal),
    async settle(signal, waiting) {
      await sendUntil(elapsed(), signal)
      const last = kept.at(-1)
      if (last === undefined) return
      for (let remaining = last.due - elapsed(); remaining > 0;) {
        const pause = Math.min(remaining, waiting?.everyMs ?? Infinity)
        await context.time.sleep(pause, signal)
        remaining -= pause
        if (remaining > 0) await waiting?.onWait()
      }
      await sendUntil(last.due, signal)
    },
  }
}

function* chunksByEpoch(removals: readonly Removal[]): Generator<readonly Removal[]> {
  for (const group of Map.groupBy(removals, ({ epoch }) => epoch).values())
    yield* chunks(group, ROWS_PER_WRITE)
}

/** Deletes rows that were judged by one epoch. If the shard has another one, a later pass judges them again. */
async function removeUnlessChanged(
  table: Pick<IndexTable, 'remove'>,
  removals: readonly Removal[],
  signal: AbortSignal | undefined,
): Promise<number> {
  try {
    const rows = removals.map(({ row }) => row)
    return await table.remove(rows, { epoch: removals[0]?.epoch, signal })
  } catch (error) {
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
    return 0
  }
}
