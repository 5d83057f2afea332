import type { Bag, Direction, Key, KeyRange } from '@looseleaf/core'
import type { CursorScope, RowPlace } from './cursor.ts'
import type { QueryOrder } from './query-types.ts'

/** Where rows begin: behind a place, or with it where it is inclusive. */
export interface RowsStart extends RowPlace {
  readonly inclusive: boolean
}

/**
 * Reads rows of a range on a shard, behind a place or from the range's beginning, as many as there are up to `size`. Their keys
 * are whole. `index` says which of the indexes of an intersection it is; a query has number 0 alone.
 */
export type FetchRows = (
  range: KeyRange,
  shard: number,
  after: (RowPlace & { readonly inclusive?: boolean }) | undefined,
  size: number,
  index: number,
) => Promise<readonly RowPlace[]>

/** The places that a page is made of, one after the other in an order. */
export interface RowSource {
  /** The next places, at most so many; none when there are no more, or when it has stopped. */
  take(count: number): Promise<readonly RowPlace[]>
  /** Whether a place behind those taken may still come: it is in hand, or was not read yet. */
  mayCome(place: RowPlace): boolean
  /** Where the next places begin when it has stopped with more to read, for it has read as much as a call may. */
  stoppedAt(): RowsStart | undefined
}

/** What pages are made by: a query on an index, or an intersection of several. */
export interface PagePlan {
  readonly order: QueryOrder
  readonly limit: number
  /** Which way the columns of a place's key stand. */
  readonly directions: readonly Direction[]
  /** What cursors of these pages are bound to. */
  readonly scope: CursorScope
  /** The key of the first place, in the plan's order, by which this bag is an answer; undefined when it is none. */
  firstKey(bag: Bag): Key | undefined
  /** The places from a start on, in the plan's order or against it. `maxRows`: rows that it may read. */
  open(order: QueryOrder, start: RowsStart | undefined, maxRows: number, fetch: FetchRows): RowSource
}
