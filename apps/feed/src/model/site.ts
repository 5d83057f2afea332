import {
  createLatencies,
  createRowCounts,
  createShardFaults,
  type HeldCleaner,
  type Latencies,
  type RowCounts,
  type ShardFaults,
} from '@looseleaf/console'
import { cleanIndex, DataStore, startCleaner, type Cleaner, type DriverFactory, type Trace } from 'looseleaf'
import { createFileParser, type FileParser } from '../import/file-parser.ts'
import { dataOf, siteIndexes, type SiteData } from './entities.ts'
import { createReader, type Reader } from './reader.ts'
import { sentFor } from './sent.ts'
import { upgradeOldData } from './upgrade-old-data.ts'

/** The site's store, with its cleaner and a parser for imported files. */
export interface Site {
  readonly store: DataStore
  readonly data: SiteData
  readonly parser: FileParser
  /** Recent durations of the store's calls. */
  readonly latencies: Latencies
  /** Counts of index rows that pages discarded and that cleaners removed. */
  readonly rowCounts: RowCounts
  /** Stops and starts this process's cleaner; undefined if it has none. */
  readonly cleaner: HeldCleaner | undefined
  /** Makes shards fail for a while, for the window's demonstration of faults. */
  readonly faults: ShardFaults
  /** Creates a reader for one page, with its own cost. Statements are counted by the trace of the request. */
  reader(trace?: Trace): Reader
  close(): Promise<void>
}

export interface SiteOptions {
  readonly shards: DriverFactory
  /** Default: true. */
  readonly cleaner?: boolean
}

/** Opens the store, creates missing tables, upgrades old data, and fills new indexes. */
export async function openSite(options: SiteOptions): Promise<Site> {
  const latencies = createLatencies()
  const rowCounts = createRowCounts()
  const faults = createShardFaults(options.shards)
  const store = await DataStore.open({
    shards: faults.shards,
    indexes: siteIndexes,
    observer: { callEnded: latencies.callEnded, happened: rowCounts.happened },
    migrate: true,
  })
  let cleaner: Cleaner | undefined
  let isClosed = false
  const held: HeldCleaner = {
    stop: async () => cleaner?.stop(),
    start() {
      if (!isClosed) cleaner = startCleaner(store)
    },
  }
  try {
    await upgradeOldData(store)
    for (const index of await store.indexes())
      if (index.state === 'building') await cleanIndex(store, index.name)
    const hasCleaner = options.cleaner ?? true
    if (hasCleaner) cleaner = startCleaner(store)
    const parser = createFileParser()
    const data = dataOf(store)
    return {
      store,
      data,
      parser,
      latencies,
      rowCounts,
      faults,
      cleaner: hasCleaner ? held : undefined,
      reader: (trace) => createReader(data, () => sentFor(trace)),
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
