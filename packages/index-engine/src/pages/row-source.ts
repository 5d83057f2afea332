import type { Bag } from '@looseleaf/core'
import type { Direction, Key, KeyRange } from '@looseleaf/core/internal'
import type { Placement } from '../catalog/placement.ts'
import type { QueryOrder } from '../definitions/index-reader.ts'
import type { CursorScope, RowPlace } from './cursor.ts'

/** The start of a sequence of rows: behind a place, or at it if inclusive. */
export interface RowsStart extends RowPlace {
  readonly inclusive: boolean
}

/**
 * Reads up to `size` rows of a range on a shard, behind a place or from the beginning of the range. Fewer rows mean the end of the range.
 * The keys include the prefix. `index` is the number of the condition of an intersection; 0 for a query.
 */
export type FetchRows = (
  range: KeyRange,
  shard: number,
  after: (RowPlace & { readonly inclusive?: boolean }) | undefined,
  size: number,
  index: number,
) => Promise<readonly RowPlace[]>

/** The ordered sequence of places that a page examines. */
export interface RowSource {
  /** Takes at most `count` of the next places; none at the end, or once the source has stopped at a bound. */
  take(count: number): Promise<readonly RowPlace[]>
  /** Tells whether a place that was not taken may still come: it is fetched, or not read yet. */
  mayCome(place: RowPlace): boolean
  /** Start of the remaining places, if the source has stopped because it has read as many rows as a call may; otherwise undefined. */
  stoppedAt(): RowsStart | undefined
}

/** The plan of a page: a query on one index, or an intersection. */
export interface PagePlan {
  readonly order: QueryOrder
  readonly limit: number
  /** The placement by which its shards were chosen. */
  readonly placement: Placement
  /** Directions of the columns of a place's key. */
  readonly directions: readonly Direction[]
  /** The query that cursors of these pages belong to. */
  readonly scope: CursorScope
  /** Returns the key of the first place, in the plan's order, at which this bag matches; undefined if it does not match. */
  firstKey(bag: Bag): Key | undefined
  /** Opens the places from a start on, in the plan's order or against it. Reads about `maxRows` rows before it stops. */
  open(order: QueryOrder, start: RowsStart | undefined, maxRows: number, fetch: FetchRows): RowSource
}
