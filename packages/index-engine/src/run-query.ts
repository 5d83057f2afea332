import { throwIfAborted, type IndexRow, type IndexScan } from '@looseleaf/core'
import { decodeCursor, encodeCursor, type PageStart, type RowPlace } from './cursor.ts'
import { createJudge } from './judge-rows.ts'
import type { IndexedEntity, IndexProperties } from './property-types.ts'
import { MAX_LIMIT, type QueryCost, type QueryPage } from './query-types.ts'
import type { FetchRows, PagePlan, RowsStart } from './row-source.ts'
import { toEntity, type ReadEntity } from './to-entity.ts'

/** What a query needs of a store. */
export interface QueryPorts {
  /** Rows of the plan's index on one shard, as `IndexTable.scan` gives them; of an intersection, of the index of this number. */
  scan(
    shard: number,
    scan: IndexScan,
    signal: AbortSignal | undefined,
    index: number,
  ): Promise<readonly IndexRow[]>
  /**
   * Reads the living entities that these rows lead to, and hands them over in their order, in groups that are small enough to
   * be held; undefined for one that is not there or was deleted. Entities do not repeat: of several rows in hand there is the
   * one that was written last. Ends when `take` answers that it has enough.
   */
  read(rows: readonly RowPlace[], signal: AbortSignal | undefined, take: TakeGroup): Promise<void>
}

/** Takes the next entities, and answers whether it wants more. */
export type TakeGroup = (group: readonly (ReadEntity | undefined)[]) => boolean

export interface RunOptions {
  /** The `cursor` or the `previous` of another page. */
  readonly cursor?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Index rows that one call examines at the most; 10,000 by default. */
  readonly maxRowsExamined?: number | undefined
  /** Index rows that one call of an intersection reads at the most; 100,000 by default. */
  readonly maxRowsRead?: number | undefined
  /** Bytes of entities with which a page ends, see `ReadEntity`; 32 MiB by default. */
  readonly maxBytes?: number | undefined
  /** Bytes that several pages share, in place of `maxBytes`. Each page examines a row at least. */
  readonly budget?: ByteBudget | undefined
}

/** Bytes of entities that pages may still take, see `ReadEntity`. What they take is subtracted. */
export interface ByteBudget {
  left: number
}

/** Index rows that one call examines at the most, unless it is told otherwise. */
export const MAX_ROWS_EXAMINED = 10_000

/** Index rows that an intersection reads at the most, unless it is told otherwise: most of them lead to no entity. */
const MAX_ROWS_READ = 100_000

/** Bytes of entities with which a page ends, unless it is told otherwise. */
export const MAX_PAGE_BYTES: number = 32 * 1024 * 1024

/** Rows of one scan and ids of one look-up, after the first. */
const MAX_FETCH = 1000
/** A page of the greatest limit, and one row to see whether another follows. */
const MAX_FIRST_FETCH = MAX_LIMIT + 1
/** The second fetch is at least of twice so many; each further one of twice the one before. */
const MIN_FETCH = 4

const REVERSE = { asc: 'desc', desc: 'asc' } as const

/** What a run over the rows of a query has come to. */
interface QueryRun {
  readonly cost: QueryCost
  /** Where it has begun; undefined at the front. */
  readonly start: PageStart | undefined
  /** Where another entity may follow: behind a place, or at it where it is inclusive. Undefined where nothing does. */
  readonly next: RowsStart | undefined
}

/**
 * One page of a query: entities in key order, each once, that match it as they are now.
 *
 * An entity stands where the first of its rows that match stands (it has several in an index over an array). Rows are
 * written before an entity and deleted after it, so a row may be there whose entity has moved on. Such a row is passed
 * over when the entity's place is on an earlier page, or when its row is still to come; if that does not come, because it
 * was deferred, the entity is taken at its place all the same. Where it would be lost, because its place was passed before
 * the row got there, it is taken where it was met. Rows that an entity has lost stay for as
 * long as a call may take, so one that moves during the call is met by its old row or its new one. So an entity that
 * matches from before the call until its end, and stands on this page for as long, is found; one that nobody writes, and whose
 * row is there, is found exactly once by paging. One that moves between two pages may be met again, or missed when it moves to an earlier
 * one: pages are no snapshot.
 *
 * A page is what stands between two cuts through the order, each before or behind some row: the one where it begins, and the
 * one up to which rows were examined. Its cursors lead on from these cuts, away from it. So whoever pages, to and fro as they
 * like, is given what stands between two cuts whenever they go from the one to the other. To go backward the rows are read in
 * the reverse order, and the page is turned round in the end; an entity stands where it always stands, which then is the last
 * of its rows that comes. Until it does the entity is in hand, and its bytes count as if it were on the page.
 *
 * There is a cursor in the direction of reading exactly when another entity follows there, or when the call reached its bound
 * on work or on bytes (`cost.complete: false` if that happened with the page not full). There is one in the other direction
 * on every page that was begun with a cursor. Of large entities a page has few: it ends with the one that brings it to 32 MiB.
 * Throws `BAD_CURSOR`, `ABORTED`, and what the ports throw.
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
    // It matches, so it has the properties of P with their types.
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
 * Every entity that matches, in key order, each once: as one page that is as long as it takes. Whoever moves during the
 * call is not missed, as it might be between two pages. Throws `ABORTED` and what the ports throw.
 */
export async function forEachMatch(
  ports: QueryPorts,
  plan: PagePlan,
  options: {
    readonly signal?: AbortSignal | undefined
    /** Rows that are likely there, so that the first fetch is no longer and may share a statement. */
    readonly likelyRows?: number | undefined
  },
  onMatch: (entity: ReadEntity) => void,
): Promise<void> {
  const unbounded = { limit: Infinity, maxRows: Infinity, maxRead: Infinity, budget: { left: Infinity } }
  await run(ports, plan, { ...options, ...unbounded }, onMatch)
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
  const asked = new Set<number>()
  const spent = { indexReads: 0, rowsRead: 0, entityReads: 0, rowsExamined: 0, entitiesRead: 0 }
  const fetch: FetchRows = async (range, shard, after, size, index) => {
    throwIfAborted(options.signal)
    spent.indexReads++
    asked.add(shard)
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
  /** Up to here, and with it, rows were examined. */
  let last: RowPlace | undefined = start

  const end = (more: boolean, complete: boolean, next = last && { ...last, inclusive: false }): QueryRun => ({
    cost: {
      shards: asked.size,
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

  /** Takes those whose own row, before this one, has not come; or answers how the run ends with them. */
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

  /** Takes a row of the batch, or answers how the run ends before it or with it. */
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

  // A budget that others have used up ends a page that has got somewhere, so that its cursor leads on.
  const hasEnough = (): boolean =>
    spent.rowsExamined >= maxRows || (last !== start && budget.left <= (backward ? judge.passedBytes() : 0))

  for (let round = 0; ; round++) {
    const size = nextSize(
      round,
      Math.min(limit - matched, round === 0 ? likelyRows : Infinity) + 1,
      matched,
      spent.rowsExamined,
    )
    // One row more than may be examined: it tells whether the bound cuts anything off.
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

/** Rows to fetch next: as many as will likely give what is wanted, and ever more while they do not. */
function nextSize(round: number, wanted: number, matched: number, examined: number): number {
  if (round === 0) return Math.min(wanted, MAX_FIRST_FETCH)
  const likely = Math.ceil((wanted * examined) / Math.max(matched, 1))
  const least = MIN_FETCH * 2 ** Math.min(round, 10)
  return Math.min(MAX_FETCH, Math.max(likely, least))
}
