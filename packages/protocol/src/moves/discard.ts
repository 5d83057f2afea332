import { isLooseleafError } from '@looseleaf/core'
import { bucketsIn, type PendingRow } from '@looseleaf/core/internal'
import { bucketOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { chunks } from '../chunks.ts'
import { shardAt } from '../shards.ts'
import { sizeClass } from '../throttle/throttle.ts'
import { pagesByAdded } from './entity-pages.ts'
import { entitiesIn, movableBuckets, type MoveWork } from './move-work.ts'
import { pagesOfRows } from '../row-pages.ts'

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

/**
 * Deletes entities, tombstones and pending rows of these buckets on a shard, as long as it has this epoch. Rejects with `STALE_EPOCH`
 * after a change: then the buckets may be the shard's own again.
 */
export async function discardAt(
  work: MoveWork,
  number: number,
  buckets: string,
  epoch: number,
): Promise<Discarded> {
  const { context, throttle, signal } = work
  const { entities } = shardAt(context, number)
  const isIn = entitiesIn(context, buckets)
  let discarded = 0
  let lastAddedId = 0
  for await (const page of pagesByAdded(work, number)) {
    const ids: Uint8Array[] = []
    for (const { id, addedId } of page) {
      if (isIn(id)) ids.push(id)
      else lastAddedId = addedId
    }
    for (const some of chunks(ids, ROWS_PER_WRITE)) {
      discarded += await throttle.send(
        number,
        () => `discard ${sizeClass(some.length)}`,
        () => entities.discard(some, { epoch, signal }),
        signal,
      )
      await work.onStatement?.()
    }
    await work.onStatement?.()
  }
  const pending = await discardPending({ context, signal }, number, isIn, epoch)
  return { entities: discarded, pending, lastAddedId }
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
 * Deletes index rows and claims of these buckets on a shard, as long as it has this epoch, and returns how many. Rejects with
 * `STALE_EPOCH` after a change: then the buckets may be the shard's own again, and a delete would take a row that is needed.
 */
export async function discardRowsAt(
  { context, throttle, signal, onStatement }: MoveWork,
  number: number,
  buckets: string,
  epoch: number,
): Promise<number> {
  const shard = shardAt(context, number)
  const router = movableBuckets(context)
  const some = new Set(bucketsIn(buckets))
  let removed = 0
  for (const entry of context.catalog.current().indexes) {
    const table = shard.index(tableSpec(entry))
    try {
      for await (const rows of pagesOfRows({ context, throttle, signal }, entry, number, {
        limit: ROWS_PER_PAGE,
      })) {
        const found = rows.filter(({ key, entityId }) => some.has(bucketOfRow(entry, router, key, entityId)))
        for (const chunk of chunks(found, ROWS_PER_WRITE)) {
          const removals = chunk.map(({ key, entityId, version }) => ({ key, entityId, before: version + 1 }))
          removed += await throttle.send(
            number,
            () => `remove from ${entry.table} ${sizeClass(removals.length)}`,
            () => table.remove(removals, { epoch, signal }),
            signal,
          )
          await onStatement?.()
        }
        await onStatement?.()
      }
    } catch (error) {
      // The index was dropped meanwhile.
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
    }
  }
  return removed
}
