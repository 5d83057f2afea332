import { unset } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { UNDATED_BEFORE } from '../entries/entries.ts'
import { freshEntry, linkedAs } from '../entries/fresh-entry.ts'
import { importedEntryId } from '../../kinds/ids.ts'
import { createImportRecord } from './imports.ts'
import { saveSources } from '../sources/save-sources.ts'
import type { FeedItem, ParsedFeed, ParsedOpml } from '../../feeds/parse/parsed-feed.ts'

/** Items per batch of reads and writes. */
const CHUNK = 250
/** Newest items of a file that are delivered to home pages. */
const DELIVERED_AT_ONCE = 20

export interface StoredFeed {
  readonly sourceId: string
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  readonly failed: number
}

/**
 * Stores a feed's items under one source of this person, or of no person. An item that is already stored is written only if it has
 * changed, so importing a file again is idempotent.
 */
export async function storeFeed(
  data: SiteData,
  feed: ParsedFeed,
  personId: string | undefined,
  now: Date,
): Promise<StoredFeed> {
  const { title, about, link, feedLink, format } = feed
  const record = createImportRecord(data, { title, format, person_id: personId }, now)
  const source = { title, about, link, feed_link: feedLink, person_id: personId }
  const options = { ownTitles: true, import_id: record.id, beforeNew: record.begin }
  const [saved] = await saveSources(data, [source], options)
  if (saved === undefined) throw new TypeError('A source that was saved has an id.')
  const total = { sourceId: saved.id, added: 0, updated: 0, unchanged: 0, deleted: 0, failed: 0 }
  const placed = placeUndated(feed)
  const ranks = ranksOf(placed)
  for (let at = 0; at < feed.items.length; at += CHUNK) {
    const chunk = feed.items.slice(at, at + CHUNK)
    const ids = chunk.map((item) => importedEntryId(saved.id, item.guid))
    const existing = await data.entries.getMany(ids)
    const news: NewEntry[] = []
    for (const [i, item] of chunk.entries()) {
      const id = ids[i] as string
      const entry = existing[i]
      if (entry === undefined) {
        const published = placed[at + i] as Date
        const from = { person_id: personId, source_id: saved.id, import_id: record.id }
        const rank = ranks[at + i] as number
        const facts = { ...fieldsOf(item), ...from, published, quiet: rank >= DELIVERED_AT_ONCE }
        // Pages list entries by arrival. Each is a millisecond older than the next newer one, which keeps the order of their own times.
        news.push({ id, ...freshEntry(facts, new Date(now.getTime() - rank)) })
      } else if (entry.removed === undefined && isChanged(entry, item)) {
        const { link_key, media_kind } = linkedAs(item)
        await data.entries.update(id, {
          title: item.title,
          body: item.body ?? unset,
          link: item.link ?? unset,
          link_key: link_key ?? unset,
          media_kind,
          author: item.author ?? unset,
          published: item.published ?? entry.published,
          media: item.media.length === 0 ? unset : item.media,
          tags: item.tags.length === 0 ? unset : item.tags,
        })
        total.updated++
      } else {
        total.unchanged++
      }
    }
    if (news.length > 0) await record.begin()
    for (const fate of await data.entries.putMany(news, { fates: true })) {
      if (fate.ok) total.added++
      else total.failed++
    }
  }
  total.deleted = await deleteEntries(data, saved.id, feed)
  await record.end({ entries: total.added, sources: saved.created ? 1 : 0 })
  return total
}

/**
 * Returns a time for each item: its own, or for an item without one a millisecond before the item above it, so that it stays in the file's
 * order and never on top of newer entries. Without any time in the file, the items are older than everything.
 */
function placeUndated({ items, published }: ParsedFeed): readonly Date[] {
  const first = items.find((item) => item.published !== undefined)?.published ?? published
  // The items above the first time get later ones, up to a millisecond each.
  const above = items.findIndex((item) => item.published !== undefined)
  let last = first === undefined ? UNDATED_BEFORE : first.getTime() + Math.max(0, above) + 1
  return items.map((item) => {
    last = item.published?.getTime() ?? last - 1
    return new Date(last)
  })
}

/** Returns the place of each time among all, 0 for the latest. */
function ranksOf(times: readonly Date[]): readonly number[] {
  const ranks: number[] = []
  const latestFirst = [...times.keys()].toSorted(
    (a, b) => (times[b] as Date).getTime() - (times[a] as Date).getTime(),
  )
  for (const [rank, at] of latestFirst.entries()) ranks[at] = rank
  return ranks
}

/** Deletes the entries of items that the feed has deleted. Their comments stay. Returns how many there were. */
async function deleteEntries(
  data: SiteData,
  sourceId: string,
  { deleted, items }: ParsedFeed,
): Promise<number> {
  const present = new Set(items.map(({ guid }) => guid))
  let count = 0
  for (let at = 0; at < deleted.length; at += CHUNK) {
    const gone = deleted.slice(at, at + CHUNK).filter((guid) => !present.has(guid))
    const ids = gone.map((guid) => importedEntryId(sourceId, guid))
    const found = (await data.entries.getMany(ids)).filter((entry) => entry !== undefined)
    await data.entries.deleteMany(found.map(({ id }) => id))
    count += found.length
  }
  return count
}

export interface StoredSubscriptions {
  readonly added: number
  readonly known: number
}

/** Stores a source for each subscription, without entries: the site fetches nothing. */
export async function storeSubscriptions(
  data: SiteData,
  opml: ParsedOpml,
  personId: string | undefined,
  now: Date,
): Promise<StoredSubscriptions> {
  const { title, format, subscriptions } = opml
  const record = createImportRecord(data, { title, format, person_id: personId }, now)
  const sources = subscriptions.map(({ feedLink, ...about }) => ({
    ...about,
    feed_link: feedLink,
    person_id: personId,
  }))
  const options = { ownTitles: false, import_id: record.id, beforeNew: record.begin }
  const saved = await saveSources(data, sources, options)
  const added = saved.filter(({ created }) => created).length
  await record.end({ entries: 0, sources: added })
  return { added, known: saved.length - added }
}

/** An imported entry, whose id is derived. */
type NewEntry = Omit<Entry, 'version'>

function fieldsOf(item: FeedItem): Pick<Entry, 'title' | 'body' | 'link' | 'author' | 'media' | 'tags'> {
  const { title, body, link, author, media, tags } = item
  return {
    title,
    body,
    link,
    author,
    ...(media.length > 0 && { media }),
    ...(tags.length > 0 && { tags }),
  }
}

function isChanged(entry: Entry, item: FeedItem): boolean {
  return (
    entry.title !== item.title ||
    entry.body !== item.body ||
    entry.link !== item.link ||
    entry.author !== item.author ||
    JSON.stringify(entry.media ?? []) !== JSON.stringify(item.media) ||
    JSON.stringify(entry.tags ?? []) !== JSON.stringify(item.tags) ||
    (item.published !== undefined && item.published.getTime() !== entry.published.getTime())
  )
}
