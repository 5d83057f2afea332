import type { Bag, DataStore } from 'looseleaf'
import { asEntry, type Entry } from '../model/entities.ts'
import { importedEntryId } from '../model/ids.ts'
import { createImportRecord } from '../model/imports.ts'
import { saveSources } from '../model/save-sources.ts'
import type { FeedItem, ParsedFeed, ParsedOpml } from './parsed-feed.ts'

/** Items that are read and written together. */
const CHUNK = 250

export interface StoredFeed {
  readonly sourceId: string
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly failed: number
}

/**
 * Stores a feed's items under one source of this person (or of nobody). An item that is there already is written again
 * only if it reads differently now, so the same file can be imported any number of times.
 */
export async function storeFeed(
  store: DataStore,
  feed: ParsedFeed,
  userId: string | undefined,
  now: Date,
): Promise<StoredFeed> {
  const { title, about, link, feedLink, format } = feed
  const record = createImportRecord(store, { title, format, user_id: userId }, now)
  const source = { title, about, link, feed_link: feedLink, user_id: userId }
  const options = { ownTitles: true, import_id: record.id, beforeNew: record.begin }
  const [saved] = await saveSources(store, [source], options)
  if (saved === undefined) throw new TypeError('A source that was saved has an id.')
  const total = { sourceId: saved.id, added: 0, updated: 0, unchanged: 0, failed: 0 }
  for (let at = 0; at < feed.items.length; at += CHUNK) {
    const chunk = feed.items.slice(at, at + CHUNK)
    const ids = chunk.map((item) => importedEntryId(saved.id, item.guid))
    const existing = await store.getMany(ids)
    const news: Bag[] = []
    for (const [i, item] of chunk.entries()) {
      const id = ids[i] as string
      const entry = asEntry(existing[i])
      if (entry === undefined) {
        // Without a date an item counts as found now; the order of the file is kept.
        const published = item.published ?? new Date(now.getTime() - at - i)
        const from = { user_id: userId, source_id: saved.id, import_id: record.id }
        news.push({ id, kind: 'entry', ...fieldsOf(item), ...from, published })
      } else if (isChanged(entry, item)) {
        await store.update(id, (bag) => ({
          ...bag,
          ...fieldsOf(item),
          published: item.published ?? entry.published,
        }))
        total.updated++
      } else {
        total.unchanged++
      }
    }
    if (news.length > 0) await record.begin()
    for (const result of await store.putMany(news)) {
      if (result.ok) total.added++
      else total.failed++
    }
  }
  await record.end({ entries: total.added, sources: saved.created ? 1 : 0 })
  return total
}

export interface StoredSubscriptions {
  readonly added: number
  readonly known: number
}

/** Makes a source of every subscription. Nothing is fetched: their entries come with the feeds themselves. */
export async function storeSubscriptions(
  store: DataStore,
  opml: ParsedOpml,
  userId: string | undefined,
  now: Date,
): Promise<StoredSubscriptions> {
  const { title, format, subscriptions } = opml
  const record = createImportRecord(store, { title, format, user_id: userId }, now)
  const sources = subscriptions.map(({ feedLink, ...about }) => ({
    ...about,
    feed_link: feedLink,
    user_id: userId,
  }))
  const options = { ownTitles: false, import_id: record.id, beforeNew: record.begin }
  const saved = await saveSources(store, sources, options)
  const added = saved.filter(({ created }) => created).length
  await record.end({ entries: 0, sources: added })
  return { added, known: saved.length - added }
}

function fieldsOf(item: FeedItem): Bag {
  return { title: item.title, body: item.body, link: item.link, author: item.author }
}

function isChanged(entry: Entry, item: FeedItem): boolean {
  return (
    entry.title !== item.title ||
    entry.body !== item.body ||
    entry.link !== item.link ||
    entry.author !== item.author ||
    (item.published !== undefined && item.published.getTime() !== entry.published.getTime())
  )
}
