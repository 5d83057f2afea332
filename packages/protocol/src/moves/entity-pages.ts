import { throwIfAborted, type EntityPageRow, type UpdatedPlace } from '@looseleaf/core/internal'
import { shardAt } from '../shards.ts'
import { sizeClass } from '../throttle/throttle.ts'
import { placeOf } from '../floor.ts'
import type { MoveWork, StoreWork } from './move-work.ts'

const PAGE = 2_000

/** Yields the entities and tombstones of a shard behind a place, without bodies, in the order of `addedId`, as pages. */
export async function* pagesByAdded(
  { context, throttle, signal }: StoreWork,
  number: number,
  after = 0,
): AsyncGenerator<readonly EntityPageRow[], void, undefined> {
  const { entities } = shardAt(context, number)
  const limit = Math.min(PAGE, throttle.maxPage)
  for (let place = after; ;) {
    throwIfAborted(signal)
    const from = place
    const page = await throttle.send(
      number,
      ({ length }) => `pages by added ${sizeClass(length)}`,
      () => entities.pageByAdded(from, limit, { signal, maxBody: 0 }),
      signal,
    )
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    await throttle.take(number, page.length, signal)
    if (page.length < limit) return
    place = last.addedId
  }
}

/** A part of the source's entities, in the order of their last write. */
export interface PageRange {
  readonly after: UpdatedPlace
  /** A floor of the source, in microseconds since 1970. */
  readonly until: number
}

export interface RangePage<Row> {
  readonly rows: readonly Row[]
  /** The place after the rows. */
  readonly place: UpdatedPlace
}

/** Yields the rows of a range of the source as pages, which `read` reads. A page of fewer rows than `limit` is the last one. */
export async function* pagesOfRange<Row extends UpdatedPlace>(
  { move, throttle, signal }: MoveWork,
  { after, until }: PageRange,
  limit: number,
  read: (range: PageRange) => Promise<readonly Row[]>,
): AsyncGenerator<RangePage<Row>, void, undefined> {
  for (let place = after; ;) {
    throwIfAborted(signal)
    const rows = await read({ after: place, until })
    const last = rows.at(-1)
    if (last === undefined) return
    place = placeOf(last)
    yield { rows, place }
    await throttle.take(move.from, rows.length, signal)
    if (rows.length < limit) return
  }
}
