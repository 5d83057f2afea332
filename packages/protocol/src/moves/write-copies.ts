import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'
import {
  chunksBySize,
  type CopiedEntity,
  type CopiedRow,
  type EntityRow,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { sizeClass } from '../throttle/throttle.ts'
import type { CopyTarget } from './attempt.ts'
import { ROWS_PER_WRITE } from './discard.ts'
import { keptCopy } from './missing-copies.ts'
import { sourceOf, targetOf, type MoveWork } from './move-work.ts'

/** Bytes of bodies in one statement. A larger body is copied alone. */
const BYTES_PER_WRITE = 2 * 1024 * 1024

/** A row of a page of the source, with or without its body. */
export interface Copyable extends UpdatedPlace {
  readonly id: Uint8Array
  readonly version: number
  readonly bodyBytes: number
  /** Null for a tombstone; undefined if it did not come with the page. */
  readonly body?: Uint8Array | null | undefined
}

/** Cuts rows into batches for one statement each, those with their bodies first. */
export function* batchesOf<Row extends Copyable>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (const some of [rows.filter(hasBody), rows.filter((row) => !hasBody(row))])
    yield* chunksBySize(some, ({ bodyBytes }) => bodyBytes, BYTES_PER_WRITE, ROWS_PER_WRITE)
}

/** Returns the copies of a batch, and reads their bodies if they did not come with the page. */
export async function copiesOf(work: MoveWork, batch: readonly Copyable[]): Promise<readonly CopiedRow[]> {
  return batch.every(hasBody) ? batch : readCopies(work, batch)
}

const hasBody = (row: Copyable): row is Copyable & CopiedRow => row.body !== undefined

/**
 * Reads the bodies of rows that still have the version of their page. A row is left out only if its replacement is durable, because the
 * copies pass its place:
 * 1. The page has version 1. Version 2 is committed, and visible, but not on disk. Its body is read, and the row is left out.
 * 2. The source crashes, and has version 1 again, before the place that the copies have reached.
 * So versions that were there before and after a flush count as durable, as in `movedOrUndone`.
 */
async function readCopies(work: MoveWork, batch: readonly Copyable[]): Promise<readonly CopiedRow[]> {
  const source = sourceOf(work)
  const { signal } = work
  const copies: CopiedRow[] = []
  for (let open = batch; open.length > 0;) {
    const rows = await readRows(work, open)
    const others: { readonly page: Copyable; readonly version: number | undefined }[] = []
    for (const [i, page] of open.entries()) {
      const row = rows[i]
      if (row?.version === page.version) copies.push(row)
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

function readRows(work: MoveWork, rows: readonly Copyable[]): Promise<readonly (EntityRow | undefined)[]> {
  const { move, throttle, signal } = work
  const ids = rows.map(({ id }) => id)
  return throttle.send(
    move.from,
    (found) => `copy read ${sizeClass(found.reduce((bytes, row) => bytes + (row?.body?.length ?? 0), 0))}`,
    () => sourceOf(work).entities.read(ids, { signal }),
    signal,
  )
}

/** The copies of a move, each of which is written only where the one before it is. */
export interface CopyChain {
  /** The last copy that the target has answered since it began with a group of the move; undefined if there was none. */
  last: CopiedEntity | undefined
}

export interface ChainedTarget extends CopyTarget {
  readonly chain: CopyChain
}

/**
 * Writes a batch of copies at the target, by one statement, if the copy before it is there:
 * 1. A batch is written, and answered.
 * 2. The target fails over to a replica that lacks the batch. Its catalog is the same.
 * 3. Later batches are written, and the target has the last one of all. Without this condition it would begin without the first batch.
 */
export async function receive(
  work: MoveWork,
  copies: readonly CopiedRow[],
  { epoch, updated, chain }: ChainedTarget,
): Promise<void> {
  const row = copies.at(-1)
  if (row === undefined) return
  const { move, throttle, signal } = work
  const { entities } = targetOf(work)
  const kind = `receive ${sizeClass(copies.length)}`
  const after = chain.last && keptCopy(chain.last)
  await throttle.send(
    move.to,
    () => kind,
    () => fenced(() => entities.receive(copies, { epoch, updated, after, signal })),
    signal,
  )
  chain.last = { id: formatId(row.id), updated }
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
