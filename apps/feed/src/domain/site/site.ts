import {
  cleanIndex,
  DataStore,
  startCleaner,
  type Cleaner,
  type DriverFactory,
  type Observer,
} from 'looseleaf'
import { createFileParser, type FileParser } from '../../feeds/parse/file-parser.ts'
import { dataOf, siteIndexes, type SiteData } from '../../kinds/site-data.ts'
import { NO_FEEDS, type FeedFinder } from '../sources/feed-finder.ts'

/** The site's store, with its cleaner and a parser for imported files. */
export interface Site {
  readonly store: DataStore
  readonly data: SiteData
  readonly parser: FileParser
  /** Finds feeds for people who add sources. Finds none unless the process fetches feeds. */
  readonly feeds: FeedFinder
  /** Stops and starts this process's cleaner; undefined if it has none. */
  readonly cleaner: CleanerControl | undefined
  close(): Promise<void>
}

/** Stops and starts the cleaner of this process. */
export interface CleanerControl {
  stop(): Promise<unknown>
  /** Does nothing once the site is closed. */
  start(): unknown
}

export interface SiteOptions {
  readonly shards: DriverFactory
  /** Observer of the store. Default: none. */
  readonly observer?: Observer
  /** Default: true. */
  readonly cleaner?: boolean
}

/** Opens the store, creates missing tables, upgrades old data, and fills new indexes. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const store = await DataStore.open({
    shards: options.shards,
    indexes: siteIndexes,
    ...(options.observer && { observer: options.observer }),
    migrate: true,
  })
  let cleaner: Cleaner | undefined
  let isClosed = false
  const held: CleanerControl = {
    stop: async () => cleaner?.stop(),
    start() {
      if (!isClosed) cleaner = startCleaner(store)
    },
  }
  try {
    for (const index of await store.indexes())
      if (index.state === 'building') await cleanIndex(store, index.name)
    const hasCleaner = options.cleaner ?? true
    if (hasCleaner) cleaner = startCleaner(store)
    const parser = createFileParser()
    return {
      store,
      data: dataOf(store),
      parser,
      feeds: NO_FEEDS,
      cleaner: hasCleaner ? held : undefined,
      async close() {
        isClosed = true
        await parser.close()
        await cleaner?.stop()
        await store.close()
      },
    }
  } catch (error) {
    await cleaner?.stop()
    await store.close()
    throw error
  }
}
