import { cleanIndex, DataStore, startCleaner, type DriverFactory, type Observer } from 'looseleaf'
import { createFileParser, type FileParser } from '../../feeds/parse/thread/file-parser.ts'
import { dataOf, siteIndexes, type SiteData } from '../../kinds/site-data.ts'
import { createPulledLists, type PulledLists } from '../home/pulled-lists.ts'
import { NO_FEEDS, type FeedFinder } from '../sources/feed-finder.ts'
import { createLoop, type LoopControl } from './loop.ts'

/** The site's store, with its cleaner and a parser for imported files. */
export interface Site {
  readonly store: DataStore
  readonly data: SiteData
  /** Lists of channels that all visits of the site in this process share. */
  readonly pulledLists: PulledLists
  readonly parser: FileParser
  /** Finds feeds for people who add sources. Finds none unless the process fetches feeds. */
  readonly feeds: FeedFinder
  /** Stops and starts this process's cleaner; undefined if it has none. */
  readonly cleaner: LoopControl | undefined
  /** The deliveries and the crawler of this process; undefined if other processes do that. */
  readonly deliveries: LoopControl | undefined
  readonly crawler: LoopControl | undefined
  close(): Promise<void>
}

export interface SiteOptions {
  readonly shards: DriverFactory
  /** Observer of the store. Default: none. */
  readonly observer?: Observer
  /** Default: true. */
  readonly cleaner?: boolean
}

/** Opens the store, creates missing tables, and fills new indexes. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const store = await DataStore.open({
    shards: options.shards,
    indexes: siteIndexes,
    ...(options.observer && { observer: options.observer }),
    migrate: true,
  })
  const cleaner = createLoop(() => startCleaner(store))
  try {
    for (const index of await store.indexes())
      if (index.state === 'building') await cleanIndex(store, index.name)
    const hasCleaner = options.cleaner ?? true
    if (hasCleaner) cleaner.start()
    const parser = createFileParser()
    const data = dataOf(store)
    return {
      store,
      data,
      pulledLists: createPulledLists(data),
      parser,
      feeds: NO_FEEDS,
      cleaner: hasCleaner ? cleaner : undefined,
      deliveries: undefined,
      crawler: undefined,
      async close() {
        await parser.close()
        await cleaner.close()
        await store.close()
      },
    }
  } catch (error) {
    await cleaner.close()
    await store.close()
    throw error
  }
}
