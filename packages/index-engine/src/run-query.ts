import { throwIfAborted, type IndexRow, type IndexScan } from '@looseleaf/core'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { createJudge } from './judge-rows.ts'
import { mergeRows } from './merge-rows.ts'
import type { QueryPlan } from './plan-query.ts'
import type { IndexedEntity, IndexProperties } from './property-types.ts'
import type { QueryCost, QueryPage } from './query-types.ts'
import { toEntity, type ReadEntity } from './to-entity.ts'

/** What a query needs of a store. */
export interface QueryPorts {
  /** Rows of the plan's index on one shard, as `IndexTable.scan` gives them. */
  scan(shard: number, scan: IndexScan, signal: AbortSignal | undefined): Promise<readonly IndexRow[]>
  /** The living entities of these ids, in their order; undefined for one that is not there or was deleted. Ids do not repeat. */
  read(
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (ReadEntity | undefined)[]>
}

export interface RunOptions {
  /** The cursor of the page before. */
  readonly cursor?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Index rows that one call examines at the most; 10,000 by default. */
  readonly maxRowsExamined?: number | undefined
}

/** Index rows that one call examines at the most, unless it is told otherwise. */
export const MAX_ROWS_EXAMINED = 10_000

/** Rows of one scan and ids of one look-up, after the first. */
const MAX_FETCH = 1000
/** The second fetch is at least of twice so many; each further one of twice the one before. */
const MIN_FETCH = 4

/**
 * One page of a query: entities in key order, each once, that match it as they are now.
 *
 * An entity stands where the first of its rows that match stands (it has several in an index over an array). Rows are
 * written before an entity and deleted after it, so a row may be there whose entity has moved on. Such a row is passed
 * over when the entity's place is on an earlier page, or when its row is still to come. Where it would be lost, because
 * its place was passed before the row got there, it is taken where it was met. So an entity that nobody writes is found
 * exactly once by paging. One that moves meanwhile may be met again on a later page, and may be missed when it moves to a
 * place that was read before its old row is reached: a query is no snapshot.
 *
 * There is a cursor exactly when another entity follows, or when the call reached its bound on work
 * (`cost.complete: false` if that happened with the page not full). Throws `BAD_CURSOR`, `ABORTED`, and what the ports throw.
 */
export async function runQuery<P extends IndexProperties = IndexProperties>(
  ports: QueryPorts,
  plan: QueryPlan,
  options: RunOptions = {},
): Promise<QueryPage<P>> {
  const { limit, order } = plan
  const maxRows = Math.max(1, options.maxRowsExamined ?? MAX_ROWS_EXAMINED)
  const start = options.cursor === undefined ? undefined : decodeCursor(plan.scope, options.cursor)
  const spent = { indexReads: 0, entityReads: 0, rowsExamined: 0, entitiesRead: 0 }
  const rows = mergeRows(plan.shards, order, start, (shard, after, size) => {
    throwIfAborted(options.signal)
    spent.indexReads++
    const place = after === undefined ? {} : { after: { key: after.key, entityId: after.entityId } }
    return ports.scan(shard, { ...plan.range, order, ...place, limit: size }, options.signal)
  })
  const judge = createJudge(plan, start, rows)
  const items: IndexedEntity<P>[] = []
  let last = start

  const page = (more: boolean, complete: boolean): QueryPage<P> => {
    const cost: QueryCost = {
      shards: plan.shards.length,
      ...spent,
      rowsMatched: items.length,
      rowsDiscarded: spent.rowsExamined - items.length,
      complete,
    }
    if (!more || last === undefined) return { items, cost }
    return { items, cursor: encodeCursor(plan.scope, last), cost }
  }

  for (let round = 0; ; round++) {
    const size =
      round === 0 ? limit + 1 : nextSize(round, limit + 1 - items.length, items.length, spent.rowsExamined)
    // One row more than may be examined: it tells whether the bound cuts anything off.
    const wanted = Math.min(size, maxRows - spent.rowsExamined + 1)
    const batch = await rows.take(wanted)
    if (batch.length === 0) return page(false, true)
    const unread = judge.begin(batch)
    if (unread.length > 0) {
      throwIfAborted(options.signal)
      spent.entityReads++
      spent.entitiesRead += unread.length
      judge.learn(await ports.read(unread, options.signal))
    }
    for (const [i, row] of batch.entries()) {
      if (spent.rowsExamined >= maxRows) return page(true, items.length === limit)
      const entity = judge.entityAt(i)
      if (entity !== undefined) {
        if (items.length === limit) return page(true, true)
        // It matches, so it has the properties of P with their types.
        items.push(toEntity(entity) as IndexedEntity<P>)
        judge.markTaken(i)
      }
      spent.rowsExamined++
      last = row
    }
  }
}

/** Rows to fetch next: as many as will likely give what is wanted, and ever more while they do not. */
function nextSize(round: number, wanted: number, matched: number, examined: number): number {
  const likely = Math.ceil((wanted * examined) / Math.max(matched, 1))
  const least = MIN_FETCH * 2 ** Math.min(round, 10)
  return Math.min(MAX_FETCH, Math.max(likely, least))
}
