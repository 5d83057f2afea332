import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import {
  throwIfAborted,
  type CopiedRow,
  type EntityChecksum,
  type EntityRow,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { lastingRows } from '../lasting-page.ts'
import { sizeClass } from '../throttle/throttle.ts'
import type { CopyTarget } from './attempt.ts'
import { ROWS_PER_WRITE } from './discard.ts'
import { entitiesIn, sourceOf, targetOf, type MoveWork } from './move-work.ts'

/** Rows of a page of checksums, of which those of the move are copied. */
const PAGE = 2_000
/** Bytes of bodies in one statement. A larger body is copied alone. */
const BYTES_PER_WRITE = 2 * 1024 * 1024

/** A part of the source's entities, in the order of their last write. */
export interface CopyRange {
  readonly after: UpdatedPlace
  /** A floor of the source, in microseconds since 1970. Undefined under a seal. */
  readonly until?: number | undefined
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
 * none.
 *
 * Below a floor, a row that has another version by the time when its body is read is left out: it is written again above the floor, and
 * comes with the next range. Under a seal there is no such write, and the range has no end: a write may begin after the seal and take
 * its time before it waits for the lock, so its time may be above every floor that was raised before.
 */
export async function copyEntities(
  work: MoveWork,
  { after, until, buckets }: CopyRange,
  target: CopyTarget,
  onPage: (page: CopiedPage) => Promise<void> | void = () => {},
): Promise<number> {
  const { context, move, throttle, signal } = work
  const isIn = entitiesIn(context, buckets)
  let lastUpdated = 0
  for (let place = after; ;) {
    throwIfAborted(signal)
    const page = await pageOfSource(work, place, until)
    const some = page.filter(({ id }) => isIn(id))
    const copied = await copyRows(work, some, target)
    lastUpdated = Math.max(lastUpdated, ...some.map(({ updated }) => updated))
    const last = page.at(-1)
    if (last !== undefined) {
      place = { updated: last.updated, addedId: last.addedId }
      await onPage({ place, read: page.length, copied })
      await throttle.take(move.from, page.length, signal)
    }
    if (page.length < PAGE) return lastUpdated
  }
}

/** Reads a durable page of the source, without bodies. */
function pageOfSource(
  work: MoveWork,
  after: UpdatedPlace,
  until: number | undefined,
): Promise<readonly EntityChecksum[]> {
  const { move, throttle, signal } = work
  const source = sourceOf(work)
  const read = (): Promise<readonly EntityChecksum[]> =>
    throttle.send(
      move.from,
      ({ length }) => `copy page ${sizeClass(length)}`,
      () => source.entities.pageOfChecksums({ after, until }, PAGE, { signal }),
      signal,
    )
  return lastingRows(source, read, read, { signal })
}

/** Copies rows in batches: while one is written, the bodies of the next one are read. */
async function copyRows(
  work: MoveWork,
  rows: readonly EntityChecksum[],
  target: CopyTarget,
): Promise<number> {
  let copied = 0
  let writing: Promise<void> = Promise.resolve()
  try {
    for (const batch of batchesOf(rows)) {
      const copies = await readCopies(work, batch)
      await writing
      writing = receive(work, copies, target)
      // Its rejection is thrown by the next `await`, and must not end the process meanwhile.
      writing.catch(() => {})
      copied += copies.length
    }
    await writing
  } finally {
    // No copy is in flight when the call ends, whatever happens.
    await writing.catch(() => {})
  }
  return copied
}

function* batchesOf(rows: readonly EntityChecksum[]): Generator<readonly EntityChecksum[]> {
  let batch: EntityChecksum[] = []
  let bytes = 0
  for (const row of rows) {
    if (batch.length === ROWS_PER_WRITE || (batch.length > 0 && bytes + row.bodyBytes > BYTES_PER_WRITE)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(row)
    bytes += row.bodyBytes
  }
  if (batch.length > 0) yield batch
}

/**
 * Reads the bodies of rows that still have the version of their page. A row is left out only if its replacement is durable, because the
 * copies pass its place:
 * 1. The page has version 1. Version 2 is committed, and visible, but not on disk. Its body is read, and the row is left out.
 * 2. The source crashes, and has version 1 again, before the place that the copies have reached.
 * So versions that were there before and after a flush count as durable, as in `movedOrUndone`.
 */
async function readCopies(work: MoveWork, batch: readonly EntityChecksum[]): Promise<readonly CopiedRow[]> {
  const source = sourceOf(work)
  const { signal } = work
  const copies: CopiedRow[] = []
  for (let open = batch; open.length > 0;) {
    const rows = await readRows(work, open)
    const others: { readonly page: EntityChecksum; readonly version: number | undefined }[] = []
    for (const [i, page] of open.entries()) {
      const row = rows[i]
      if (row?.version === page.version) copies.push(row as CopiedRow)
      else others.push({ page, version: row?.version })
    }
    if (others.length === 0) break
    await source.flush({ signal })
    const now = await source.entities.readVersions(
      others.map(({ page }) => page.id),
      { signal },
    )
    open = others.filter(({ version }, i) => now[i] !== version).map(({ page }) => page)
  }
  return copies
}

function readRows(
  work: MoveWork,
  rows: readonly EntityChecksum[],
): Promise<readonly (EntityRow | undefined)[]> {
  const { move, throttle, signal } = work
  const ids = rows.map(({ id }) => id)
  return throttle.send(
    move.from,
    (found) => `copy read ${sizeClass(found.reduce((bytes, row) => bytes + (row?.body?.length ?? 0), 0))}`,
    () => sourceOf(work).entities.read(ids, { signal }),
    signal,
  )
}

async function receive(work: MoveWork, copies: readonly CopiedRow[], target: CopyTarget): Promise<void> {
  if (copies.length === 0) return
  const { move, throttle, signal } = work
  const { entities } = targetOf(work)
  const kind = `receive ${sizeClass(copies.length)}`
  await throttle.send(
    move.to,
    () => kind,
    () => fenced(() => entities.receive(copies, { ...target, signal })),
    signal,
  )
}

/**
 * Sends a copy. One without an answer becomes `STALE_EPOCH`, and is not sent again under this epoch: it may still arrive, after a later copy
 * of the same entity. `renewTarget` keeps it out.
 */
export async function fenced<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    if (!isLooseleafError(error) || !error.unknownOutcome) throw error
    throw new LooseleafError('STALE_EPOCH', `${error.message} The copy is sent again under another epoch.`, {
      shard: error.shard,
      cause: error,
    })
  }
}
