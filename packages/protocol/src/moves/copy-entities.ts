import { bucketsIn, type EntityPageRow, type UpdatedPlace } from '@looseleaf/core/internal'
import { placeOf } from '../floor.ts'
import { isEmptyForGood, lastingRows } from '../lasting-page.ts'
import { readAhead } from '../read-ahead.ts'
import { sizeClass } from '../throttle/throttle.ts'
import { ROWS_PER_WRITE } from './discard.ts'
import { pagesOfRange, type PageRange } from './entity-pages.ts'
import { entitiesIn, movableBuckets, sourceOf, type MoveWork } from './move-work.ts'
import { batchesOf, copiesOf, receive, type ChainedTarget, type Copyable } from './write-copies.ts'

/** Rows of a page with bodies. */
const PAGE = 1_000
/** Bytes of the longest body that comes with its page. A longer one is read alone. */
const MAX_BODY = 8 * 1024
/** Rows of a page without bodies. */
const SPARSE_PAGE = 2_000
/** Pages come with bodies if at least this share of the source's buckets moves. Otherwise the bodies of few rows are read by their ids. */
const DENSE = 1 / 8

export interface CopyRange extends PageRange {
  readonly buckets: string
}

export interface Copied {
  /** Rows that were written at the target. */
  readonly copied: number
}

export interface CopiedPage {
  /** All rows of the range up to this place are copied. */
  readonly place: UpdatedPlace
  /** Rows of the source that were read, and those that were copied, since the last page. */
  readonly read: number
  readonly copied: number
}

/**
 * Copies the entities and tombstones of a range from the source to the target, exactly, each of them once, and calls `onPage` after each
 * page. All rows up to its place are durable at the source, and written at the target by then. While a page is written, the next one is
 * read. Returns how many rows it has copied.
 *
 * A row whose body is not the one of its page is left out: it is written again above the floor, and comes with the next range.
 */
export async function copyEntities(
  work: MoveWork,
  { after, until, buckets }: CopyRange,
  target: ChainedTarget,
  onPage: (page: CopiedPage) => Promise<void> | void = () => {},
): Promise<Copied> {
  const { limit, maxBody } = pageFor(work, buckets)
  const isIn = entitiesIn(work.context, buckets)
  /** Rows that wait for the next page, so that nearly all batches are full. */
  let waiting: readonly Copyable[] = []
  let done = after
  let all = 0

  const pages = pagesOfRange(work, { after, until }, limit, (range) =>
    lastingPageOf(work, range, limit, maxBody),
  )
  let place = after
  for await (const page of readAhead(pages)) {
    place = page.place
    const some = [...waiting, ...page.rows.filter(({ id }) => isIn(id))]
    const full = some.slice(0, some.length - (some.length % Math.min(limit, ROWS_PER_WRITE)))
    const copied = await copyRows(work, full, target)
    all += copied
    waiting = some.slice(full.length)
    if (waiting.length === 0) done = place
    else if (full.length > 0) done = placeOf(full.at(-1) as Copyable)
    await onPage({ place: done, read: page.rows.length, copied })
  }
  if (waiting.length === 0) return { copied: all }
  const copied = await copyRows(work, waiting, target)
  await onPage({ place, read: 0, copied })
  return { copied: all + copied }
}

/** Returns the size of a page. Its bodies take at most 8 MB, and 400 kB as a rule. */
function pageFor(
  { context, move, throttle }: MoveWork,
  buckets: string,
): { readonly limit: number; readonly maxBody: number } {
  const { shardOfBucket = movableBuckets(context).shards } = context.catalog.latest().placement
  const owned = shardOfBucket.filter((shard) => shard === move.from).length
  const isDense = bucketsIn(buckets).length >= owned * DENSE
  const page = isDense ? { limit: PAGE, maxBody: MAX_BODY } : { limit: SPARSE_PAGE, maxBody: 0 }
  return { ...page, limit: Math.min(page.limit, throttle.maxPage) }
}

/** Reads a page of the source that is durable, also if it is empty: a crash could bring back a row whose replacement is not on disk. */
async function lastingPageOf(
  work: MoveWork,
  range: PageRange,
  limit: number,
  maxBody: number,
): Promise<readonly Copyable[]> {
  const { signal } = work
  const source = sourceOf(work)
  const { entities } = source
  const read = (): Promise<readonly Copyable[]> =>
    maxBody === 0
      ? entities.pageOfChecksums(range, limit, { signal })
      : entities.pageOfChanges(range, limit, { signal, maxBody })
  const measured = (): Promise<readonly Copyable[]> =>
    work.throttle.send(
      work.move.from,
      ({ length }) => `copy page ${maxBody} ${sizeClass(length)}`,
      read,
      signal,
    )
  const places = (): Promise<readonly EntityPageRow[]> =>
    entities.pageOfChanges(range, limit, { signal, maxBody: 0 })
  for (;;) {
    const page = await lastingRows(source, measured, places, { signal })
    if (page.length > 0 || (await isEmptyForGood(source, range, { signal }))) return page
  }
}

/** Copies rows in batches. While one is written, the bodies of the next one are read, unless they came with the page. */
async function copyRows(work: MoveWork, rows: readonly Copyable[], target: ChainedTarget): Promise<number> {
  let copied = 0
  let writing: Promise<void> = Promise.resolve()
  try {
    for (const batch of batchesOf(rows)) {
      const copies = await copiesOf(work, batch)
      await writing
      writing = receive(work, copies, target)
      writing.catch(() => {})
      copied += copies.length
    }
    await writing
  } finally {
    await writing.catch(() => {})
  }
  return copied
}
