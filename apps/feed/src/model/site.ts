import {
  bucketRouter,
  cleanIndex,
  DataStore,
  parseId,
  startCleaner,
  type Cleaner,
  type DriverFactory,
} from 'looseleaf'
import { createFileParser, type FileParser } from '../import/file-parser.ts'
import { siteIndexes } from './indexes.ts'
import { createReader, type Reader } from './reader.ts'

/** The site's data: one store for everything, the cleaner that looks after its indexes, and what reads files for it. */
export interface Site {
  readonly store: DataStore
  readonly parser: FileParser
  /** A reader for one page, with a cost of its own. */
  reader(): Reader
  close(): Promise<void>
}

export interface SiteOptions {
  readonly shards: DriverFactory
  /** Default: true. */
  readonly cleaner?: boolean
}

/** Opens the store, creates what is missing of its tables, and fills indexes that are new to it. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const store = await DataStore.open({ shards: options.shards, indexes: siteIndexes, migrate: true })
  let cleaner: Cleaner | undefined
  try {
    const { shards, indexes } = await store.status()
    for (const index of indexes) if (index.state === 'building') await cleanIndex(store, index.name)
    if (options.cleaner ?? true) cleaner = startCleaner(store)
    // The same router as the store's own, for counting on how many shards a page's ids live.
    const parser = createFileParser()
    const router = bucketRouter({ shards: shards.length })
    return {
      store,
      parser,
      reader: () => createReader(store, (id) => router.shardOfId(parseId(id))),
      async close() {
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
