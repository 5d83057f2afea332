import { memoryShards } from 'looseleaf'
import { onTestFinished } from 'vitest'
import { takeDue, type LeasedSource } from '../src/crawler/due.ts'
import { importsOf } from '../src/domain/imports/imports.ts'
import { storeFeed, storeSubscriptions, type StoredSubscriptions } from '../src/domain/imports/store-feed.ts'
import { entriesOfSource } from '../src/domain/entries/entries.ts'
import { openSite, type Site } from '../src/domain/site/site.ts'
import { fetchedSourceId } from '../src/domain/sources/source-names.ts'
import { listSources } from '../src/domain/sources/sources.ts'
import { storeItems } from '../src/domain/sources/store-items.ts'
import { parseFile } from '../src/feeds/parse/parse-file.ts'
import type { ParsedFeed } from '../src/feeds/parse/parsed-feed.ts'
import type { SiteData } from '../src/kinds/site-data.ts'
import { rss } from './feed-server.ts'

/** Time of the imports. */
export const now: Date = new Date('2026-06-01T12:00:00Z')

/** A site on three shards, to which Ann imports files and lists. */
export interface ImportBench {
  readonly site: Site
  readonly ann: string
  readonly bob: string
  /** Imports a feed with these items for Ann, and returns the id of its source. */
  importFeed(...titles: string[]): Promise<string>
  /** Imports a list of so many subscriptions for Ann. */
  importList(length: number, options?: ImportListOptions): Promise<StoredSubscriptions>
  /** Stores an entry of a source, as the crawler does, and returns its id. */
  fetchItem(sourceId: string): Promise<string>
  /** Takes all sources that are due, as the crawler does before it fetches them. */
  takeAll(): Promise<LeasedSource[]>
  /** Returns the channels that a person follows, the latest first. */
  followedBy(personId: string): Promise<string[]>
  /** Returns the entries of a person's inbox. */
  inboxOf(personId: string): Promise<string[]>
  /** Returns the titles of Ann's imports with their numbers of entries and sources, newest first. */
  imports(): Promise<[string, number, number][]>
  /** Returns the id of Ann's newest import. */
  newest(): Promise<string>
  titlesIn(sourceId: string): Promise<string[]>
  sourceCount(): Promise<number>
}

export interface ImportListOptions {
  /** Default: true. */
  readonly follow?: boolean
  readonly data?: SiteData
}

/** Returns the feed of a file with items of these titles. */
export function fileOf(...titles: string[]): ParsedFeed {
  const parsed = parseFile(Buffer.from(rss(titles)), { name: 'f', now })
  if (parsed.type !== 'feed') throw new TypeError('That is a feed.')
  return parsed
}

/** Returns the address of a subscription of `importList`. */
const address = (i: number): string => `https://example.org/${i}.xml`

/** Returns the id of the source of a subscription of `importList`. */
export const listed = (i: number): string => fetchedSourceId(address(i))

/** Opens a bench for the test that runs now. */
export async function openImportBench(): Promise<ImportBench> {
  const site = await openSite({ shards: memoryShards(3), cleaner: false })
  onTestFinished(() => site.close())
  const { data, store } = site
  const [ann, bob] = [store.newId(), store.newId()]
  return {
    site,
    ann,
    bob,
    async importFeed(...titles) {
      const items = titles.map((title) => `<item><guid>${title}</guid><title>${title}</title></item>`)
      const xml = `<rss version="2.0"><channel><title>F</title><link>https://example.org/</link>${items.join('')}</channel></rss>`
      const parsed = parseFile(Buffer.from(xml), { name: 'f', now })
      if (parsed.type !== 'feed') throw new TypeError('That is a feed.')
      return (await storeFeed(data, parsed, ann, now)).sourceId
    },
    async importList(length, { follow = true, data: into = data } = {}) {
      const outlines = Array.from({ length }, (_, i) => `<outline text="${i}" xmlUrl="${address(i)}"/>`)
      const opml = `<opml version="2.0"><head><title>My list</title></head><body>${outlines.join('')}</body></opml>`
      const parsed = parseFile(Buffer.from(opml), { name: 'l', now })
      if (parsed.type !== 'opml') throw new TypeError('That is a list.')
      return storeSubscriptions(into, parsed, { personId: ann, follow, now })
    },
    async fetchItem(sourceId) {
      await storeItems(data, fileOf('a'), { sourceId, now, isNew: true, quietOld: true })
      return (await entriesOfSource(data, sourceId)).items[0]!.id
    },
    takeAll: () =>
      takeDue(data, {
        limit: 100,
        leaseMs: 60_000,
        now,
        reserve: () => true,
        release: () => undefined,
        passed: new Map(),
        onError: () => undefined,
      }),
    followedBy: async (person_id) =>
      (await data.follows.byPerson.all({ person_id })).map(({ channel_id }) => channel_id).toReversed(),
    inboxOf: async (person_id) =>
      (await data.inbox.byPerson.all({ person_id })).map(({ entry_id }) => entry_id),
    imports: async () =>
      (await importsOf(data, ann)).items.map(({ title, entries, sources }) => [title, entries, sources]),
    newest: async () => (await importsOf(data, ann)).items[0]?.id ?? '',
    titlesIn: async (sourceId) =>
      (await entriesOfSource(data, sourceId)).items.map(({ title }) => title).toSorted(),
    sourceCount: async () => (await listSources(data)).items.length,
  }
}
