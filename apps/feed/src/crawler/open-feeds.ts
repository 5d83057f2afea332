import { createLoop, type LoopControl } from '../domain/site/loop.ts'
import type { FeedFinder } from '../domain/sources/feed-finder.ts'
import { createFileParser } from '../feeds/parse/thread/file-parser.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { startCrawler, type Crawler } from './crawler.ts'
import { discoverFeeds } from './fetch/discover.ts'
import { createFetcher } from './fetch/fetch-feed.ts'
import { createGuard } from './guard/guard.ts'

/** Time for a discovery: all of its fetches, and the parsing. */
const DISCOVERY_MS = 30_000

export interface FeedsOptions {
  /** False if other processes fetch the sources. Feeds are still discovered. */
  readonly crawl: boolean
  /** Pairs of host and port that may be fetched although they are not on the public internet. */
  readonly crawlAllow: readonly string[]
  /** Public address of the site, by which servers know their visitor. */
  readonly origin?: string | undefined
  /** Time between two fetches of each source, in milliseconds. Default: by its number of items, from five minutes to a day. */
  readonly crawlEveryMs?: number | undefined
  /** Time for which a process has a source, in milliseconds. Default: five minutes, and at most ten times `crawlEveryMs`. */
  readonly leaseMs?: number
  /** Called with each error of the store. Default: writes to the standard error output. */
  readonly onError?: (error: unknown) => void
}

export interface Feeds extends FeedFinder {
  /** The loop that fetches due sources; undefined if other processes do. */
  readonly crawler: LoopControl | undefined
  /** Breaks fetches off, gives their sources back, and closes connections. */
  stop(): Promise<void>
}

/** Opens all that fetches feeds, with a parser of its own: files that people import do not wait for it. */
export function openFeeds(data: SiteData, options: FeedsOptions): Feeds {
  const { crawl, crawlAllow, origin, leaseMs, onError = (error) => console.error(error) } = options
  const guard = createGuard({ allow: crawlAllow })
  const fetcher = createFetcher({ guard, origin })
  const parser = createFileParser()
  const stopping = new AbortController()
  const { crawlEveryMs: every } = options
  const pace = {
    ...(every !== undefined && { bounds: { min: every, max: every } }),
    ...(leaseMs !== undefined && { leaseMs }),
  }
  let running: Crawler | undefined
  const begin = (): Crawler => (running = startCrawler({ data, fetcher, parser, onError, ...pace }))
  const crawler = crawl ? createLoop(begin) : undefined
  crawler?.start()
  return {
    discover: (text) =>
      discoverFeeds({ fetcher, parser }, text, {
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(DISCOVERY_MS)]),
      }),
    wake: () => running?.wake(),
    allowed: guard.allowed,
    crawler,
    async stop() {
      stopping.abort()
      await crawler?.close()
      await fetcher.close()
      await parser.close()
    },
  }
}
