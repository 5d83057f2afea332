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

/** The site's data: one store for everything, the cleaner that looks after its indexes, and what reads files for it. */
export interface Site {
  readonly store: DataStore
  readonly data: SiteData
  readonly parser: FileParser
  /** How long calls of the store took lately. */
  readonly latencies: Latencies
  /** Rows that led to nothing, as pages met them and cleaners took them away. */
  readonly rowCounts: RowCounts
  /** How the cleaner of this process is stopped for a while; undefined where there is none. */
  readonly cleaner: HeldCleaner | undefined
  /** How its shards are broken for a while. */
  readonly faults: ShardFaults
  /** A reader for one page, with a cost of its own; its statements are those of the trace that the page is made in. */
  reader(trace?: Trace): Reader
  close(): Promise<void>
}

export interface SiteOptions {
  readonly shards: DriverFactory
  /** Default: true. */
  readonly cleaner?: boolean
}

/** Opens the store, creates what is missing of its tables, brings up what is old, and fills indexes that are new to it. */
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
