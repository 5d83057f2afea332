import type { CallOptions, Shard } from '@looseleaf/core'
import type { ChangesRange, EntityPageRow, PageOptions, UpdatedPlace } from '@looseleaf/core/internal'
import { openedTo } from './opened-connections.ts'

/**
 * Reads a page of changes that is durable as a whole, so that a follower may continue after it. Without the flush, a follower could miss a
 * row:
 * 1. Entity E is replaced. Its replacement is visible, but not on disk, and has a later place.
 * 2. The follower reads the page, which has E no longer, and continues after it.
 * 3. A crash undoes the replacement, and E is back at its earlier place, which the follower has passed.
 *
 * So a flushed commit follows the page, and the page is read again if the server may have restarted in between. An empty page moves no
 * place, and is not flushed.
 */
export function lastingPage(
  shard: Shard,
  range: ChangesRange,
  limit: number,
  options: PageOptions,
): Promise<readonly EntityPageRow[]> {
  const { entities } = shard
  return lastingRows(
    shard,
    () => entities.pageOfChanges(range, limit, options),
    () => entities.pageOfChanges(range, limit, { ...options, maxBody: 0 }),
    options,
  )
}

/** As `lastingPage`, for a page in another form. `readAgain` reads the places of the same page. */
export async function lastingRows<Row extends UpdatedPlace>(
  shard: Shard,
  read: () => Promise<readonly Row[]>,
  readAgain: () => Promise<readonly UpdatedPlace[]>,
  { signal }: CallOptions,
): Promise<readonly Row[]> {
  for (;;) {
    const before = openedTo(shard)
    const page = await read()
    if (page.length === 0) return page
    await shard.flush({ signal })
    const after = openedTo(shard)
    if (after !== undefined) {
      if (after === before) return page
      continue
    }
    // The driver cannot tell whether its server restarted. A second read shows whether an entity is back.
    const known = new Set(page.map(placeText))
    const again = await readAgain()
    if (again.every((row) => known.has(placeText(row)))) return page
  }
}

/** Tells whether a range of changes is empty, and stays so also after a crash. A follower may then continue after it. */
export async function isEmptyForGood(
  shard: Shard,
  range: ChangesRange,
  { signal }: CallOptions,
): Promise<boolean> {
  const isEmpty = async (): Promise<boolean> =>
    (await shard.entities.pageOfChanges(range, 1, { signal, maxBody: 0 })).length === 0
  const before = openedTo(shard)
  if (!(await isEmpty())) return false
  await shard.flush({ signal })
  const after = openedTo(shard)
  return after === undefined ? isEmpty() : after === before
}

const placeText = ({ updated, addedId }: UpdatedPlace): string => `${updated} ${addedId}`
