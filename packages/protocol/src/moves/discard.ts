import { isLooseleafError } from '@looseleaf/core'
import { bucketsIn, chunks, type PendingRow } from '@looseleaf/core/internal'
import { bucketOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import { sizeClass } from '../throttle/throttle.ts'
import { pagesByAdded } from './entity-pages.ts'
import { entitiesIn, movableBuckets, type MoveWork } from './move-work.ts'
import { pagesOfRows, type IndexPlace } from '../row-pages.ts'

/** Rows of a page of an index table. */
export const ROWS_PER_PAGE = 1_000
/** Rows of a statement that writes or deletes. */
export const ROWS_PER_WRITE = 500

export interface Discarded {
  readonly entities: number
  readonly pending: number
  /** Greatest `addedId` of the other entities, or of none, 0. Entities that come later have a greater one. */
  readonly lastAddedId: number
}

/** Places up to which all rows of some buckets are deleted on a shard that does not own them, so that no others come. */
export interface DiscardProgress {
  addedId: number
  /** By table. */
  readonly rows: Map<string, IndexPlace>
  /** Numbers of deleted rows. */
  entities: number
  removed: number
}

export const noDiscardProgress = (): DiscardProgress => ({
  addedId: 0,
  rows: new Map(),
  entities: 0,
  removed: 0,
})

/**
 * Deletes entities, tombstones and pending rows of these buckets on a shard, as long as it has this epoch. Rejects with `STALE_EPOCH`
 * after a change: then the buckets may be the shard's own again. Begins at the place of `progress`, and advances it.
 */
export async function discardAt(
  work: MoveWork,
  number: number,
  buckets: string,
  epoch: number,
  progress: DiscardProgress = noDiscardProgress(),
): Promise<Discarded> {
  const { context, throttle, signal } = work
  const { entities } = shardAt(context, number)
  const isIn = entitiesIn(context, buckets)
  let lastAddedId = 0
  for await (const page of pagesByAdded(work, number, progress.addedId)) {
    const ids: Uint8Array[] = []
    for (const { id, addedId } of page) {
      if (isIn(id)) ids.push(id)
      else lastAddedId = addedId
    }
    for (const some of chunks(ids, ROWS_PER_WRITE)) {
      progress.entities += await throttle.send(
        number,
        () => `discard ${sizeClass(some.length)}`,
        () => entities.discard(some, { epoch, signal }),
        signal,
      )
      await work.onStatement?.()
    }
    progress.addedId = page.at(-1)!.addedId
    await work.onStatement?.()
  }
  const pending = await discardPending({ context, signal }, number, isIn, epoch)
  return { entities: progress.entities, pending, lastAddedId }
}

/** Deletes pending rows of entities on a shard that has this epoch. A row that gets a greater version meanwhile stays. */
async function discardPending(
  { context, signal }: Pick<MoveWork, 'context' | 'signal'>,
  number: number,
  isIn: (id: Uint8Array) => boolean,
  epoch: number,
): Promise<number> {
  const { pending } = shardAt(context, number)
  let removed = 0
  for await (const page of pagesOfPending({ context, signal }, number)) {
    const some = page.filter(({ entityId }) => isIn(entityId))
    const removals = some.map(({ entityId, table, version }) => ({ entityId, table, before: version + 1 }))
    if (removals.length > 0) removed += await pending.remove(removals, { epoch, signal })
  }
  return removed
}

/** Yields all pending rows of a shard as pages. */
export async function* pagesOfPending(
  { context, signal }: Pick<MoveWork, 'context' | 'signal'>,
  number: number,
): AsyncGenerator<readonly PendingRow[], void, undefined> {
  const { pending } = shardAt(context, number)
  for (let after: PendingRow | undefined; ;) {
    const page = await pending.page({ after, limit: ROWS_PER_WRITE }, { signal })
    if (page.length > 0) yield page
    if (page.length < ROWS_PER_WRITE) return
    after = page.at(-1)
  }
}

/**
 * Deletes index rows and claims of these buckets on a shard, as long as it has this epoch. Rejects with `STALE_EPOCH` after a change: then the
 * buckets may be the shard's own again, and a delete would take a row that is needed. Begins at the places of `progress`, and advances it.
 */
export async function discardRowsAt(
  { context, throttle, signal, onStatement }: MoveWork,
  number: number,
  buckets: string,
  epoch: number,
  progress: DiscardProgress,
): Promise<void> {
  const shard = shardAt(context, number)
  const router = movableBuckets(context)
  const some = new Set(bucketsIn(buckets))
  for (const entry of context.catalog.current().indexes) {
    const table = shard.index(tableSpec(entry))
    try {
      for await (const rows of pagesOfRows({ context, throttle, signal }, entry, number, {
        limit: ROWS_PER_PAGE,
        after: progress.rows.get(entry.table),
      })) {
        const found = rows.filter(({ key, entityId }) => some.has(bucketOfRow(entry, router, key, entityId)))
        for (const chunk of chunks(found, ROWS_PER_WRITE)) {
          const removals = chunk.map(({ key, entityId, version }) => ({ key, entityId, before: version + 1 }))
          progress.removed += await throttle.send(
            number,
            () => `remove from ${entry.table} ${sizeClass(removals.length)}`,
            () => table.remove(removals, { epoch, signal }),
            signal,
          )
          await onStatement?.()
        }
        progress.rows.set(entry.table, rows.at(-1)!)
        await onStatement?.()
      }
    } catch (error) {
      // The index was dropped meanwhile.
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
    }
  }
}
