import { throwIfAborted, type IndexRow, type IndexScan } from '@looseleaf/core/internal'
import type { IndexedEntity, IndexProperties } from '../definitions/property-types.ts'
import { decodeCursor, encodeCursor, type PageStart, type RowPlace } from './cursor.ts'
import { createJudge } from './judge-rows.ts'
import { MAX_LIMIT, type QueryCost, type QueryPage } from './query-types.ts'
import type { FetchRows, PagePlan, RowsStart } from './row-source.ts'
import { toEntity, type ReadEntity } from '../bodies/to-entity.ts'

/** The reads of a store that a query needs. */
export interface QueryPorts {
  /** Scans index rows of one shard, like `IndexTable.scan`. `index` is the number of the condition of an intersection; 0 for a query. */
  scan(
    shard: number,
    scan: IndexScan,
    signal: AbortSignal | undefined,
    index: number,
  ): Promise<readonly IndexRow[]>
  /**
   * Reads the entities of these rows and passes them to `take` in the same order, in groups that fit into memory; undefined for an
   * entity that is missing or deleted. The rows have distinct entities: of several rows of an entity, the one with the latest stamp.
   * Resolves early once `take` returns false.
   */
  read(rows: readonly RowPlace[], signal: AbortSignal | undefined, take: TakeGroup): Promise<void>
}

/** Takes the next entities. Returns whether it needs more. */
export type TakeGroup = (group: readonly (ReadEntity | undefined)[]) => boolean

export interface RunOptions {
  /** The `cursor` or the `previous` of another page. */
  readonly cursor?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Largest number of index rows that a call examines. Default: 10,000. */
  readonly maxRowsExamined?: number | undefined
  /** Number of index rows after which an intersection stops reading. Default: 100,000. */
  readonly maxRowsRead?: number | undefined
  /** A page ends with the entity that brings it to so many bytes, see `ReadEntity`. Default: 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Bytes that several pages share, in place of `maxBytes`. Each page examines at least one row. */
  readonly budget?: ByteBudget | undefined
}

/** Bytes that pages may still take, see `ReadEntity`. Each page subtracts its bytes. */
export interface ByteBudget {
  left: number
}

/** Default of `maxRowsExamined`. */
const MAX_ROWS_EXAMINED = 10_000

/** Default of `maxRowsRead`. Higher than `MAX_ROWS_EXAMINED`, because most rows of an intersection lead to no read of an entity. */
const MAX_ROWS_READ = 100_000

/** Default of `maxBytes`. */
export const MAX_PAGE_BYTES: number = 32 * 1024 * 1024

/** Largest number of rows of a scan, and of entities of a read, after the first. */
const MAX_FETCH = 1000
/** A full page of the largest limit, and one row that tells whether another follows. */
const MAX_FIRST_FETCH = MAX_LIMIT + 1
/** The second fetch has at least twice so many rows. The minimum doubles with each further fetch. */
const MIN_FETCH = 4

const REVERSE = { asc: 'desc', desc: 'asc' } as const

/** The result of a run over the rows of a query. */
interface QueryRun {
  readonly cost: QueryCost
  /** Start of the run; undefined for the first page. */
  readonly start: PageStart | undefined
  /** Place behind which (or at which, if inclusive) another entity may follow; undefined if none does. */
  readonly next: RowsStart | undefined
}

/**
 * Reads one page of a query: entities that match now, in key order, each once.
 *
 * **Place of an entity.** An entity stands at the first of its matching rows; in an index over an array it may have several. Rows are
 * written before their entity and deleted after it, so a row may lead to an entity that has moved. The rule for such a row:
 * 1. If the entity's place is before the start of the page, the row is discarded: the entity belongs to an earlier page.
 * 2. If the row at the entity's place may still come, the entity is postponed. If that row does not come, because it is deferred, the
 *    entity is taken at its place.
 * 3. Otherwise the place was read before its row was written. The entity is taken at the row that led to it, because it would be missed
 *    otherwise.
 *
 * Lost rows stay for as long as a call may take, so an entity that moves during the call is found by its old row or its new one. An
 * entity that matches during the whole call, and stands on this page all the time, is on the page. Paging finds an entity that is not
 * written, and whose row is not deferred, exactly once. An entity that moves between two pages may come again, or be missed if it
 * moves to an earlier page: pages are no snapshot.
 *
 * **Cuts.** A page lies between two cuts in the order, each before or behind a row: its start, and the last examined row. Its cursors
 * lead away from these cuts, so a caller that pages forward and back between two cuts gets what lies between them. A backward page
 * reads the rows in reverse and is reversed at the end. The place of an entity stays its first row, which then comes last; until then
 * the entity is postponed, and its bytes count as if it were on the page.
 *
 * **Cursors.** A page has a cursor in the direction of reading if another entity follows, or if the call reached a bound on work or
 * bytes. `cost.complete` is false if it reached the bound before the page was full. A page that began with a cursor always has one
 * in the other direction. A page ends with the entity that brings it to 32 MiB.
 *
 * Throws `BAD_CURSOR`, `ABORTED`, and the errors of the ports.
 */
export async function runQuery<P extends IndexProperties = IndexProperties>(
  ports: QueryPorts,
  plan: PagePlan,
  options: RunOptions = {},
): Promise<QueryPage<P>> {
  const items: IndexedEntity<P>[] = []
  const { cost, start, next } = await run(
    ports,
    plan,
    {
      ...options,
      limit: plan.limit,
      maxRows: Math.max(1, options.maxRowsExamined ?? MAX_ROWS_EXAMINED),
      maxRead: Math.max(1, options.maxRowsRead ?? MAX_ROWS_READ),
      budget: options.budget ?? { left: options.maxBytes ?? MAX_PAGE_BYTES },
    },
    // A matching entity has the properties of P with their types.
    (entity) => items.push(toEntity(entity) as IndexedEntity<P>),
  )
  const backward = start?.backward === true
  const onward = next && encodeCursor(plan.scope, { ...next, backward })
  const back =
    start && encodeCursor(plan.scope, { ...start, backward: !backward, inclusive: !start.inclusive })
  const [cursor, previous] = backward ? [back, onward] : [onward, back]
  return {
    items: backward ? items.toReversed() : items,
    ...(cursor !== undefined && { cursor }),
    ...(previous !== undefined && { previous }),
    cost,
  }
}

/**
 * Passes every matching entity to `onMatch` in key order, each once, as one page without bounds. So no entity that moves during the
 * call is missed, as it might be between two pages. With a limit, it stops after so many entities or twice as many rows. Returns true if
 * no other entity follows. Throws `ABORTED` and the errors of the ports.
 */
export async function forEachMatch(
  ports: QueryPorts,
  plan: PagePlan,
  options: {
    readonly signal?: AbortSignal | undefined
    /** Expected number of rows. It bounds the first fetch, so that the scan can share a statement. */
    readonly likelyRows?: number | undefined
    readonly limit?: number | undefined
  },
  onMatch: (entity: ReadEntity) => void,
): Promise<boolean> {
  const { limit = Infinity } = options
  const bounds = { limit, maxRows: 2 * limit, maxRead: Infinity, budget: { left: Infinity } }
  const { next } = await run(ports, plan, { ...options, ...bounds }, onMatch)
  return next === undefined
}

async function run(
  ports: QueryPorts,
  plan: PagePlan,
  options: RunOptions & {
    readonly limit: number
    readonly maxRows: number
    readonly maxRead: number
    readonly budget: ByteBudget
    readonly likelyRows?: number | undefined
  },
  onMatch: (entity: ReadEntity) => void,
): Promise<QueryRun> {
  const { limit, maxRows, maxRead, budget, likelyRows = Infinity } = options
  const start = options.cursor === undefined ? undefined : decodeCursor(plan.scope, options.cursor)
  const backward = start?.backward === true
  const order = backward ? REVERSE[plan.order] : plan.order
  const shardsRead = new Set<number>()
  const spent = { indexReads: 0, rowsRead: 0, entityReads: 0, rowsExamined: 0, entitiesRead: 0 }
  const fetch: FetchRows = async (range, shard, after, size, index) => {
    throwIfAborted(options.signal)
    spent.indexReads++
    shardsRead.add(shard)
    const place = after && { key: after.key, entityId: after.entityId, inclusive: after.inclusive }
    const read = await ports.scan(
      shard,
      { ...range, order, ...(place !== undefined && { after: place }), limit: size },
      options.signal,
      index,
    )
    spent.rowsRead += read.length
    return read
  }
  const rows = plan.open(order, start, maxRead, fetch)
  const judge = createJudge(plan, order, start, rows)
  let matched = 0
  let last: RowPlace | undefined = start

  const end = (more: boolean, complete: boolean, next = last && { ...last, inclusive: false }): QueryRun => ({
    cost: {
      shards: shardsRead.size,
      ...spent,
      rowsMatched: matched,
      rowsDiscarded: spent.rowsExamined - matched,
      complete,
    },
    start,
    next: more ? next : undefined,
  })

  function match(entity: ReadEntity): void {
    onMatch(entity)
    matched++
    budget.left -= entity.bytes
  }

  /** Takes the postponed entities whose row has not come by this place. Returns the result if the run ends with one of them. */
  function takeOverdue(before?: RowPlace): QueryRun | undefined {
    for (;;) {
      const overdue = judge.takeOverdue(before)
      if (overdue === undefined) return undefined
      if (matched === limit) return end(true, true)
      match(overdue.entity)
      last = overdue
      if (budget.left <= 0) return end(true, matched === limit)
    }
  }

  /** Examines a row of the batch. Returns the result if the run ends before it. */
  function examine(row: RowPlace, i: number): QueryRun | undefined {
    const ended = takeOverdue(row)
    if (ended !== undefined) return ended
    const entity = judge.entityAt(i)
    if (entity !== undefined) {
      if (matched === limit) return end(true, true)
      match(entity)
      judge.markTaken(i)
    }
    spent.rowsExamined++
    last = row
    return undefined
  }

  // Other pages may have used up the budget. This page still examines one row, so that its cursor makes progress.
  const hasEnough = (): boolean =>
    spent.rowsExamined >= maxRows ||
    (last !== start && budget.left <= (backward ? judge.postponedBytes() : 0))

  // Each round after the first refills the page.
  for (let round = 0; ; round++) {
    const size = nextSize(
      round,
      Math.min(limit - matched, round === 0 ? likelyRows : Infinity) + 1,
      matched,
      spent.rowsExamined,
    )
    // One row more than the bound, to know whether the bound cuts rows off.
    const wanted = Math.min(size, maxRows - spent.rowsExamined + 1)
    const batch = await rows.take(wanted)
    if (batch.length === 0) {
      const stoppedAt = rows.stoppedAt()
      return (
        takeOverdue(stoppedAt) ??
        end(stoppedAt !== undefined, stoppedAt === undefined || matched === limit, stoppedAt)
      )
    }
    if (hasEnough()) return end(true, matched === limit)
    const unread = judge.begin(batch)
    if (unread.length > 0) {
      throwIfAborted(options.signal)
      spent.entityReads++
      spent.entitiesRead += unread.length
    }
    let i = 0
    let ended: QueryRun | undefined
    const take: TakeGroup = (group) => {
      judge.learn(group)
      for (; i < batch.length && ended === undefined; i++) {
        if (hasEnough()) ended = end(true, matched === limit)
        else if (judge.knows(i)) ended = examine(batch[i] as RowPlace, i)
        else return true
      }
      return ended === undefined
    }
    if (unread.length === 0) take([])
    else await ports.read(unread, options.signal, take)
    if (ended !== undefined) return ended
  }
}

/** Returns the rows to fetch next: the number that likely gives the wanted entities, growing with each round. */
function nextSize(round: number, wanted: number, matched: number, examined: number): number {
  if (round === 0) return Math.min(wanted, MAX_FIRST_FETCH)
  const likely = Math.ceil((wanted * examined) / Math.max(matched, 1))
  const least = MIN_FETCH * 2 ** Math.min(round, 10)
  return Math.min(MAX_FETCH, Math.max(likely, least))
}
