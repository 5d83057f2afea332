import type { EntityPageRow, EntityTable, PageOptions, Shard } from '@looseleaf/core'
import { openedTo } from './opened.ts'

type Range = Parameters<EntityTable['pageOfChanges']>[0]

/**
 * Reads a page of changes that a follower may leave behind. An entity whose replacement is visible is not on the page, and a crash may undo
 * that replacement while it is not on disk: the entity then is back on the page, and nothing would tell of it. So a flushed commit follows
 * the page, and the page is read again where the server may have been started anew in between. An empty page moves no place, and is not
 * flushed.
 */
export async function lastingPage(
  shard: Shard,
  range: Range,
  limit: number,
  options: PageOptions,
): Promise<readonly EntityPageRow[]> {
  const { entities } = shard
  for (;;) {
    const before = openedTo(shard)
    const page = await entities.pageOfChanges(range, limit, options)
    if (page.length === 0) return page
    await shard.flush({ signal: options.signal })
    const after = openedTo(shard)
    if (after !== undefined) {
      if (after === before) return page
      continue
    }
    // The driver does not tell one life of its server from the next: an entity that has come back shows.
    const known = new Set(page.map(placeText))
    const again = await entities.pageOfChanges(range, limit, { ...options, maxBody: 0 })
    if (again.every((row) => known.has(placeText(row)))) return page
  }
}

const placeText = ({ updated, addedId }: EntityPageRow): string => `${updated} ${addedId}`
