import { bucketsIn, throwIfAborted, type EntityPageRow, type UpdatedPlace } from '@looseleaf/core/internal'
import { isEmptyForGood, lastingRows } from '../lasting-page.ts'
import { sizeClass } from '../throttle/throttle.ts'
import type { CopyTarget } from './attempt.ts'
import { entitiesIn, movableBuckets, sourceOf, type MoveWork } from './move-work.ts'
import { batchesOf, copiesOf, receive, type Copyable } from './write-copies.ts'

/** Rows of a page with bodies. */
const PAGE = 1_000
/** Bytes of the longest body that comes with its page. A longer one is read alone. */
const MAX_BODY = 8 * 1024
/** Rows of a page without bodies. */
const SPARSE_PAGE = 2_000
/** Pages come with bodies if at least this share of the source's buckets moves. Otherwise the bodies of few rows are read by their ids. */
const DENSE = 1 / 8

/** A part of the source's entities, in the order of their last write. */
export interface CopyRange {
  readonly after: UpdatedPlace
  /** A floor of the source, in microseconds since 1970. */
  readonly until: number
  readonly buckets: string
}

export interface CopiedPage {
  /** The place after the page. */
  readonly place: UpdatedPlace
  /** Rows of the source that were read, and those of them that were copied. */
  readonly read: number
  readonly copied: number
}

/**
 * Copies the entities and tombstones of a range from the source to the target, exactly, and calls `onPage` after each page. All of its rows
 * are durable at the source, and written at the target by then. Returns the greatest time of writing of the copied rows; 0 if there are
 * none. While a page is written, the next one is read.
 *
 * A row whose body is not the one of its page is left out: it is written again above the floor, and comes with the next range.
 */
export async function copyEntities(
  work: MoveWork,
  { after, until, buckets }: CopyRange,
  target: CopyTarget,
  onPage: (page: CopiedPage) => Promise<void> | void = () => {},
): Promise<number> {
  const { context, move, throttle, signal } = work
  const isIn = entitiesIn(context, buckets)
  const { limit, maxBody } = pageFor(work, buckets)
  let lastUpdated = 0
  let writing: Promise<void> = Promise.resolve()

  async function write(page: readonly Copyable[], last: UpdatedPlace): Promise<void> {
    const some = page.filter(({ id }) => isIn(id))
    const copied = await copyRows(work, some, target)
    for (const { updated } of some) lastUpdated = Math.max(lastUpdated, updated)
    await onPage({ place: { updated: last.updated, addedId: last.addedId }, read: page.length, copied })
  }

  try {
    for (let place = after; ;) {
      throwIfAborted(signal)
      const range = { after: place, until }
      const page = await pageOfSource(work, range, limit, maxBody)
      await writing
      const last = page.at(-1)
      if (last === undefined) {
        // A crash could bring a row back whose replacement is not on disk, and the copies pass its place.
        if (await isEmptyForGood(sourceOf(work), range, { signal })) return lastUpdated
        continue
      }
      writing = write(page, last)
      // Its rejection is thrown by the next `await`, and must not end the process meanwhile.
      writing.catch(() => {})
      await throttle.take(move.from, page.length, signal)
      if (page.length < limit) {
        await writing
        return lastUpdated
      }
      place = { updated: last.updated, addedId: last.addedId }
    }
  } finally {
    // No copy is in flight when the call ends, whatever happens.
    await writing.catch(() => {})
  }
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

/** Reads a durable page of the source. */
function pageOfSource(
  work: MoveWork,
  range: { readonly after: UpdatedPlace; readonly until: number },
  limit: number,
  maxBody: number,
): Promise<readonly Copyable[]> {
  const { move, throttle, signal } = work
  const source = sourceOf(work)
  const { entities } = source
  const read = (): Promise<readonly Copyable[]> =>
    throttle.send(
      move.from,
      ({ length }: readonly Copyable[]) => `copy page ${maxBody} ${sizeClass(length)}`,
      () =>
        maxBody === 0
          ? entities.pageOfChecksums(range, limit, { signal })
          : entities.pageOfChanges(range, limit, { signal, maxBody }),
      signal,
    )
  const places = (): Promise<readonly EntityPageRow[]> =>
    entities.pageOfChanges(range, limit, { signal, maxBody: 0 })
  return lastingRows(source, read, places, { signal })
}

/** Copies rows in batches. While one is written, the bodies of the next one are read, unless they came with the page. */
async function copyRows(work: MoveWork, rows: readonly Copyable[], target: CopyTarget): Promise<number> {
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
