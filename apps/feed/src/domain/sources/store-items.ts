import { unchanged, unset, type ChangesOf, type Fate } from 'looseleaf'
import type { FeedItem, ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import { linkId, type Entry } from '../../kinds/entry.ts'
import { importedEntryId } from '../../kinds/ids.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { addressKey } from '../../text/web-link.ts'
import { UNDATED_BEFORE } from '../entries/entries.ts'
import { SKIP } from '../site/partial-reads.ts'
import { foundBy } from '../search/found-by.ts'
import { freshEntry, linkedAs, type EntryFacts } from '../entries/fresh-entry.ts'
import { removeDeleted } from './remove-deleted.ts'
import { isGone, isThere } from '../site/unless-there.ts'

/** Items per batch of reads and writes. */
const CHUNK = 250
/** Newest items of a first fetch, or of a file, that are delivered to home pages. */
export const DELIVERED_AT_ONCE = 20

export interface StoreItemsOptions {
  readonly sourceId: string
  /** The person for whom a file is imported. */
  readonly personId?: string | undefined
  /** Import of new entries. */
  readonly importId?: string
  readonly now: Date
  /** True if the source has no entries yet. */
  readonly isNew: boolean
  /** True if all but the newest items are `quiet` when they are new. */
  readonly quietOld: boolean
  /** Number of items, the newest ones, that are stored; the others are passed over. Default: all. */
  readonly newest?: number
  /** Largest number of new entries, of the newest items. Default: no limit. */
  readonly room?: number
  /** Awaited before the writes of each batch, and told whether new entries are among them. */
  readonly beforeWrites?: (writes: { readonly areNew: boolean }) => Promise<void>
}

/** Numbers of entries. */
export interface StoredItems {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  readonly failed: number
  /** Number of new items for which there was no room. */
  readonly postponed: number
}

/**
 * Stores a feed's items as entries of a source. An item that is already stored is written only if it has changed, so storing a feed
 * again is idempotent.
 * - No entry is published later than it arrives, or than its text or link changes.
 * - An entry whose item is no longer in the feed stays; one that the feed says it has deleted is removed.
 * - Items whose entries are on a shard that does not answer fail alone. If the source is new the call rejects, because its old items
 *   would not be `quiet` later.
 */
export async function storeItems(
  data: SiteData,
  feed: ParsedFeed,
  options: StoreItemsOptions,
): Promise<StoredItems> {
  const { sourceId, now, room = Infinity } = options
  const total = { added: 0, updated: 0, unchanged: 0, failed: 0, postponed: 0 }
  const ids = feed.items.map((item) => importedEntryId(sourceId, item.guid))
  const renamed = options.isNew ? undefined : findRenamed(data, feed, ids, sourceId)
  const placed = placeUndated(feed)
    .map((published, i) => ({ published, item: feed.items[i]!, id: ids[i]! }))
    .toSorted((a, b) => b.published.getTime() - a.published.getTime())
    .slice(0, options.newest)
  for (let at = 0; at < placed.length; at += CHUNK) {
    const chunk = placed.slice(at, at + CHUNK)
    const { existing, unread } = await readEntries(
      data,
      chunk.map(({ id }) => id),
      options,
    )
    const missing = chunk.filter(({ id }, i) => existing[i] === undefined && !unread.has(id))
    const { known, unclear } = (await renamed?.(missing.map(({ item }) => item))) ?? NONE_RENAMED
    const news: NewEntry[] = []
    const changes: { readonly id: string; readonly item: FeedItem }[] = []
    for (const [i, { id, item, published }] of chunk.entries()) {
      const entry = existing[i] ?? known.get(item)
      if (unread.has(id) || unclear.has(item)) {
        total.failed++
      } else if (entry === undefined && total.added + news.length >= room) {
        total.postponed++
      } else if (entry === undefined) {
        const rank = at + i
        // Pages list entries by arrival. Each is a millisecond older than the next newer one, which keeps the order of their own times.
        const arrived = new Date(now.getTime() - rank)
        const facts = {
          ...fieldsOf(item),
          source_id: sourceId,
          person_id: options.personId,
          import_id: options.importId,
          published: earlier(published, arrived),
          quiet: options.quietOld && rank >= DELIVERED_AT_ONCE,
        }
        news.push({ id, ...freshEntry(facts, arrived) })
      } else if (mayChange(entry, item)) {
        changes.push({ id: entry.id, item })
      } else {
        total.unchanged++
      }
    }
    if (news.length + changes.length > 0) await options.beforeWrites?.({ areNew: news.length > 0 })
    for (const outcome of await Promise.all(changes.map((change) => changeEntry(data, change, now))))
      total[outcome]++
    for (const fate of await data.entries.insertMany(news, { fates: true })) total[outcomeOf(fate)]++
  }
  if (feed.deleted.length > 0) await options.beforeWrites?.({ areNew: false })
  const { removed, unread } = await removeDeleted(data, sourceId, feed, now)
  return { ...total, deleted: removed, failed: total.failed + unread }
}

/** Reads the entries of a source, without those on shards that do not answer unless it is new. */
async function readEntries(
  { entries }: SiteData,
  ids: readonly string[],
  { isNew }: Pick<StoreItemsOptions, 'isNew'>,
): Promise<{ readonly existing: readonly (Entry | undefined)[]; readonly unread: ReadonlySet<string> }> {
  if (isNew) return { existing: await entries.getMany(ids), unread: new Set() }
  const { items, unread } = await entries.getMany(ids, SKIP)
  return { existing: items, unread: new Set<string>(unread) }
}

/** Returns the outcome of an insert. An entry that another call has inserted meanwhile is the same. */
function outcomeOf(fate: Fate<unknown>): 'added' | 'unchanged' | 'failed' {
  if (fate.ok) return 'added'
  return isThere(fate.error) ? 'unchanged' : 'failed'
}

/** Changes an entry to its item, unless it was removed meanwhile. An entry that was deleted meanwhile fails: the next call inserts it. */
async function changeEntry(
  { entries }: SiteData,
  { id, item }: { readonly id: string; readonly item: FeedItem },
  now: Date,
): Promise<'updated' | 'unchanged' | 'failed'> {
  let outcome: 'updated' | 'unchanged' = 'unchanged'
  try {
    await entries.update(id, (entry) => {
      outcome = mayChange(entry, item) ? 'updated' : 'unchanged'
      return outcome === 'updated' ? changeOf(entry, item, now) : unchanged
    })
    return outcome
  } catch (error) {
    if (isGone(error)) return 'failed'
    throw error
  }
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

interface Renamed {
  readonly known: ReadonlyMap<FeedItem, Entry>
  /** Items whose entries may be on a shard that does not answer. */
  readonly unclear: ReadonlySet<FeedItem>
}

const NONE_RENAMED: Renamed = { known: new Map(), unclear: new Set() }

/**
 * Returns a function that finds the entries of items whose guid has changed, as some sites do with each new headline: the only entry of
 * the source with the item's link. A link that several items of the feed have, or that is the site's own, tells nothing; neither does
 * an entry whose own item is still in the feed.
 */
function findRenamed(
  { entries }: SiteData,
  { items, link: site }: ParsedFeed,
  ids: readonly string[],
  sourceId: string,
): (missing: readonly FeedItem[]) => Promise<Renamed> {
  const uses = new Map<string, number>()
  for (const { link } of items)
    if (link !== undefined) uses.set(linkKey(link), (uses.get(linkKey(link)) ?? 0) + 1)
  if (site !== undefined) uses.delete(linkKey(site))
  const present = new Set(ids)
  return async (missing) => {
    const asked = missing.flatMap((item) =>
      item.link !== undefined && uses.get(linkKey(item.link)) === 1
        ? [{ item, link_key: linkKey(item.link) }]
        : [],
    )
    if (asked.length === 0) return NONE_RENAMED
    const wheres = asked.map(({ link_key }) => ({ source_id: sourceId, link_key }))
    const pages = await entries.bySourceLink.pageMany(wheres, { limit: 2, ...SKIP })
    const known = new Map<FeedItem, Entry>()
    const unclear = new Set<FeedItem>()
    for (const [i, { item }] of asked.entries()) {
      const { items: found, cost } = pages[i]!
      const [entry, ...others] = found
      if (!cost.complete) unclear.add(item)
      else if (entry !== undefined && others.length === 0 && !present.has(entry.id)) known.set(item, entry)
    }
    return { known, unclear }
  }
}

/** An entry of a source, whose id is derived. */
type NewEntry = Omit<Entry, 'version'>

/** The properties of an entry, as an edit gets them. */
type StoredEntry = Omit<Entry, 'id' | 'version'>

function linkKey(link: string): string {
  return linkId(addressKey(link))
}

function fieldsOf(item: FeedItem): Pick<EntryFacts, 'title' | 'body' | 'link' | 'author' | 'media' | 'tags'> {
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

function changeOf(entry: StoredEntry, item: FeedItem, now: Date): ChangesOf<typeof Entry> {
  const { link_key, media_kind } = linkedAs(item)
  return {
    title: item.title,
    body: item.body ?? unset,
    link: item.link ?? unset,
    link_key: link_key ?? unset,
    media_kind,
    ...foundBy(item),
    author: item.author ?? unset,
    ...(item.published !== undefined &&
      (isEdited(entry, item) || entry.link !== item.link) && { published: earlier(item.published, now) }),
    media: item.media.length === 0 ? unset : item.media,
    tags: item.tags.length === 0 ? unset : item.tags,
    ...(isEdited(entry, item) && { edited: now }),
  }
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other
}

/**
 * Returns true if an entry differs from its item, and was not removed. A date alone makes no difference: a feed with a new one at each
 * fetch would stay on top.
 */
function mayChange(entry: StoredEntry, item: FeedItem): boolean {
  if (entry.removed !== undefined) return false
  return (
    isEdited(entry, item) ||
    entry.link !== item.link ||
    entry.author !== item.author ||
    JSON.stringify(entry.media ?? []) !== JSON.stringify(item.media) ||
    JSON.stringify(entry.tags ?? []) !== JSON.stringify(item.tags)
  )
}

/** Returns true if the text that people read has changed. */
function isEdited(entry: StoredEntry, item: FeedItem): boolean {
  return entry.title !== item.title || entry.body !== item.body
}
