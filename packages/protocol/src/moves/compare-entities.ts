import type { EntityChecksum } from '@looseleaf/core/internal'
import { readAhead } from '../read-ahead.ts'
import { sizeClass } from '../throttle/throttle.ts'
import type { CopiedPage, CopyRange } from './copy-entities.ts'
import { pagesByAdded, pagesOfRange } from './entity-pages.ts'
import { entitiesIn, sourceOf, targetOf, type MoveWork } from './move-work.ts'

const PAGE = 2_000

/** Result of comparing the entities of a range with their copies. */
export interface Comparison {
  /** Entities and tombstones that were compared. */
  readonly compared: number
  /** Number of compared ones whose copy is missing or differs. Must be 0. */
  readonly different: number
}

/**
 * Compares the version and the checksum of every entity of a range with its copy. Call it while nothing is copied. A difference counts only if
 * the source still has the row as it was read: a later write comes with the next copy.
 */
export async function compareEntities(
  work: MoveWork,
  { after, until, buckets }: CopyRange,
  onPage: (page: CopiedPage) => Promise<void> | void = () => {},
): Promise<Comparison> {
  const { context, move, throttle, signal } = work
  const { entities } = sourceOf(work)
  const isIn = entitiesIn(context, buckets)
  const limit = Math.min(PAGE, throttle.maxPage)
  let compared = 0
  let different = 0
  const pages = pagesOfRange(work, { after, until }, limit, (range) =>
    throttle.send(
      move.from,
      ({ length }) => `copy page ${sizeClass(length)}`,
      () => entities.pageOfChecksums(range, limit, { signal }),
      signal,
    ),
  )
  for await (const { rows, place } of readAhead(pages)) {
    const some = rows.filter(({ id }) => isIn(id))
    compared += some.length
    different += (await differencesAmong(work, some)).length
    await onPage({ place, read: rows.length, copied: some.length })
  }
  return { compared, different }
}

async function differencesAmong(
  work: MoveWork,
  rows: readonly EntityChecksum[],
): Promise<readonly EntityChecksum[]> {
  if (rows.length === 0) return []
  const { move, throttle, signal } = work
  const { entities } = targetOf(work)
  const ids = rows.map(({ id }) => id)
  const copies = await throttle.send(
    move.to,
    () => `checksums ${sizeClass(rows.length)}`,
    () => entities.checksums(ids, { signal }),
    signal,
  )
  const different = rows.filter((row, i) => !isCopy(row, copies[i]))
  if (different.length === 0) return []
  const now = await sourceOf(work).entities.checksums(
    different.map(({ id }) => id),
    { signal },
  )
  return different.filter((row, i) => isCopy(row, now[i]))
}

export function isCopy(
  row: Pick<EntityChecksum, 'version' | 'checksum' | 'bodyBytes'>,
  copy: EntityChecksum | undefined,
): boolean {
  return (
    copy !== undefined &&
    copy.version === row.version &&
    copy.checksum === row.checksum &&
    copy.bodyBytes === row.bodyBytes
  )
}

/**
 * Counts the entities and tombstones at the target of which the source has no row, as a leftover of an earlier move would be. Must be 0. The
 * source deletes no row of these buckets while the attempt goes on.
 */
export async function countExtra(work: MoveWork, buckets: string, afterAddedId: number): Promise<number> {
  const { context, move, signal, onStatement } = work
  const isIn = entitiesIn(context, buckets)
  let extra = 0
  for await (const page of readAhead(pagesByAdded(work, move.to, afterAddedId))) {
    const ids = page.filter(({ id }) => isIn(id)).map(({ id }) => id)
    if (ids.length > 0) {
      const versions = await sourceOf(work).entities.readVersions(ids, { signal })
      extra += versions.filter((version) => version === undefined).length
    }
    await onStatement?.()
  }
  return extra
}
