import type { FeedFinder } from '../domain/sources/feed-finder.ts'
import { createFileParser } from '../feeds/parse/file-parser.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { startCrawler } from './crawler.ts'
import { discoverFeeds } from './fetch/discover.ts'
import { createFetcher } from './fetch/fetch-feed.ts'
import { createGuard } from './guard/guard.ts'

/** Time for all fetches of a discovery. */
const DISCOVERY_MS = 30_000

export interface FeedsOptions {
  /** False if other processes fetch the sources. Feeds are still discovered. */
  readonly crawl: boolean
  /** Pairs of host and port that may be fetched although they are not on the public internet. */
  readonly crawlAllow: readonly string[]
  /** Public address of the site, by which servers know their visitor. */
  readonly origin?: string | undefined
  /** Time for which a process has a source, in milliseconds. Default: five minutes. */
  readonly leaseMs?: number
  /** Called with each error of the store. Default: writes to the standard error output. */
  readonly onError?: (error: unknown) => void
}

export interface Feeds extends FeedFinder {
  /** Breaks fetches off, gives their sources back, and closes connections. */
  stop(): Promise<void>
}

/** Opens all that fetches feeds, with a parser of its own: files that people import do not wait for it. */
export function openFeeds(data: SiteData, options: FeedsOptions): Feeds {
  const { crawl, crawlAllow, origin, leaseMs, onError = (error) => console.error(error) } = options
  const fetcher = createFetcher({ guard: createGuard({ allow: crawlAllow }), origin })
  const parser = createFileParser()
  const stopping = new AbortController()
  const lease = leaseMs === undefined ? {} : { leaseMs }
  const crawler = crawl ? startCrawler({ data, fetcher, parser, onError, ...lease }) : undefined
  return {
    discover: (text) =>
      discoverFeeds({ fetcher, parser }, text, {
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(DISCOVERY_MS)]),
      }),
    wake: () => crawler?.wake(),
    async stop() {
      stopping.abort()
      await crawler?.stop()
      await fetcher.close()
      await parser.close()
    },
  }
}
