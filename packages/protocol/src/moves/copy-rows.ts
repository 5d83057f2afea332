import { isLooseleafError } from '@looseleaf/core'
import { bucketsIn, chunks, distinctIds, type CatalogEntry, type IndexRow } from '@looseleaf/core/internal'
import { bucketOfRow, tableSpec } from '@looseleaf/index-engine/internal'
import { readAhead } from '../read-ahead.ts'
import { pagesOfRows, rowText } from '../row-pages.ts'
import { sizeClass } from '../throttle/throttle.ts'
import { writeAgain } from '../write-early.ts'
import { freeKeys } from './free-keys.ts'
import { heldClaims } from './held-claims.ts'
import { ROWS_PER_PAGE, ROWS_PER_WRITE } from './discard.ts'
import { movableBuckets, targetOf, type MoveWork } from './move-work.ts'

/** Counts of one index table, or table of claims. */
export interface CopiedRows {
  /** Rows of the source that were read. */
  readonly read: number
  /** Rows among them in the move's buckets. */
  readonly found: number
  /** Rows among these that were written at the target. */
  readonly written: number
  /**
   * Claims among these that the target cannot take yet: other entities compete for the key, or for `deleteDelayMs` a failover may restore one
   * that had it.
   */
  readonly later: number
  /** Claims among these whose keys other entities had at the target. Only a pass without any shows that the target has all claims. */
  readonly freed: number
}

export interface CopyRowsOptions {
  /**
   * False: writes every row at the target. True: compares every row of the source with the target, and writes those that are missing there or
   * have a lower stamp. A row that a writer is writing on both shards may be among them.
   */
  readonly comparing: boolean
  readonly onPage?: ((read: number) => Promise<void>) | undefined
}

/**
 * Copies the rows of an index, or the claims of a unique one, that are in the move's buckets from the source to the target. Call it after
 * `announceMove`, by which every attempt writes both places. Repeatable, without a fence: the greatest stamp stays, and an extra row costs
 * a read. A claim is copied only if its entity is committed with the key; the target takes it as a writer would.
 *
 * A row must not be copied with a stamp of its own, such as the entity's present version: a delete by an older version would spare it, and
 * later ones find no reason to look at it.
 */
export async function copyIndexRows(
  work: MoveWork,
  entry: CatalogEntry,
  { comparing, onPage }: CopyRowsOptions,
): Promise<CopiedRows> {
  const { context, move } = work
  const router = movableBuckets(context)
  const buckets = new Set(bucketsIn(move.buckets))
  const counts = { read: 0, found: 0, written: 0, later: 0, freed: 0 }
  try {
    const pages = pagesOfRows(work, entry, move.from, { limit: ROWS_PER_PAGE, included: true })
    for await (const page of readAhead(pages)) {
      const some = page.filter(({ key, entityId }) => buckets.has(bucketOfRow(entry, router, key, entityId)))
      counts.read += page.length
      counts.found += some.length
      for (const chunk of chunks(some, ROWS_PER_WRITE)) {
        const missing = comparing ? await missingAmong(work, entry, chunk) : chunk
        const wrote = await writeAtTarget(work, entry, missing)
        counts.written += wrote.written
        counts.later += wrote.later
        counts.freed += wrote.freed
      }
      await onPage?.(page.length)
    }
  } catch (error) {
    // The index was dropped meanwhile, so nobody needs its rows.
    if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
  }
  return counts
}

async function missingAmong(
  work: MoveWork,
  entry: CatalogEntry,
  rows: readonly IndexRow[],
): Promise<readonly IndexRow[]> {
  const { move, throttle, signal } = work
  const ids = distinctIds(rows.map(({ entityId }) => entityId))
  const [found = []] = await throttle.send(
    move.to,
    () => `rows of ${entry.table} ${sizeClass(ids.length)}`,
    () => targetOf(work).rowsOf([tableSpec(entry)], ids, { signal }),
    signal,
  )
  const stamps = new Map(found.map((row) => [rowText(row), row.version]))
  return rows.filter((row) => (stamps.get(rowText(row)) ?? 0) < row.version)
}

async function writeAtTarget(
  work: MoveWork,
  entry: CatalogEntry,
  rows: readonly IndexRow[],
): Promise<Pick<CopiedRows, 'written' | 'later' | 'freed'>> {
  const { context, move, throttle, signal } = work
  const some = entry.unique ? await heldClaims(work, entry, rows) : rows
  if (some.length === 0) return { written: 0, later: 0, freed: 0 }
  const { duplicates, later } = await throttle.work(
    move.to,
    `write ${entry.table} ${sizeClass(some.length)}`,
    (measured) => writeAgain(context, entry, move.to, some, signal, measured),
    signal,
  )
  const written = some.length - duplicates.length - later.length
  return { written, later: later.length, freed: await freeKeys(work, entry, duplicates) }
}
