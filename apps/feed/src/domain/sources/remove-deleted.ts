import type { ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import { importedEntryId } from '../../kinds/ids.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { removeContent } from '../entries/entries.ts'
import { SKIP } from '../site/partial-reads.ts'
import { unlessGone } from '../site/unless-there.ts'

/** Entries per batch of reads. */
const CHUNK = 250

/** Numbers of entries. */
export interface RemovedItems {
  readonly removed: number
  /** Entries that may be on a shard that does not answer. A later call removes them. */
  readonly unread: number
}

/** Removes the entries of items that the feed has deleted. Their comments stay. */
export async function removeDeleted(
  data: SiteData,
  sourceId: string,
  { deleted, items }: ParsedFeed,
  now: Date,
): Promise<RemovedItems> {
  const present = new Set(items.map(({ guid }) => guid))
  const total = { removed: 0, unread: 0 }
  for (let at = 0; at < deleted.length; at += CHUNK) {
    const gone = deleted.slice(at, at + CHUNK).filter((guid) => !present.has(guid))
    const ids = gone.map((guid) => importedEntryId(sourceId, guid))
    const { items: found, unread } = await data.entries.getMany(ids, SKIP)
    const there = found.filter((entry) => entry !== undefined).filter(({ removed }) => removed === undefined)
    await Promise.all(there.map(({ id }) => unlessGone(removeContent(data, id, { by: sourceId, at: now }))))
    total.removed += there.length
    total.unread += unread.length
  }
  return total
}
