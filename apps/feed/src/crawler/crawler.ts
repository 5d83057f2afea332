import type { FileParser } from '../feeds/parse/file-parser.ts'
import type { SiteData } from '../kinds/site-data.ts'
import type { Source } from '../kinds/source.ts'
import { crawlSource } from './crawl-source.ts'
import { takeDue } from './due.ts'
import type { Fetcher } from './fetch/fetch-feed.ts'
import { POLITE, type IntervalBounds } from './schedule.ts'

/** Sources that one process fetches at once, and those of one host among them. */
const AT_ONCE = 8
const AT_ONCE_PER_HOST = 2
/** Time between two looks for due sources. */
const LOOK_MS = 5_000
/**
 * Time for which a process has a source. It covers the limits of a fetch and of parsing, also if the other sources of the process are
 * parsed before, so a process that lives loses no lease.
 */
const LEASE_MS = 5 * 60_000

export interface CrawlerOptions {
  readonly data: SiteData
  readonly fetcher: Fetcher
  readonly parser: FileParser
  /** Called with each error of the store. The crawler goes on. */
  readonly onError: (error: unknown) => void
  readonly now?: () => Date
  readonly lookMs?: number
  readonly leaseMs?: number
  /** Bounds of the time between two fetches of a source. Default: from five minutes to a day. */
  readonly bounds?: IntervalBounds
}

export interface Crawler {
  /** Looks for due sources at once. */
  wake(): void
  /** Breaks fetches off and gives their sources back. */
  stop(): Promise<void>
}

/**
 * Fetches sources when they are due, until it is stopped. Any number of processes may do so on one store: each source is fetched by one
 * of them at a time, and those of a dead process are fetched by another one when their leases end.
 */
export function startCrawler(options: CrawlerOptions): Crawler {
  const { data, fetcher, parser, onError, now = () => new Date() } = options
  const { bounds = POLITE, leaseMs = LEASE_MS } = options
  const { lookMs = Math.min(LOOK_MS, bounds.min) } = options
  const ctx = { data, fetcher, parser, now, bounds }
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  const hosts = new Map<string, number>()
  let wakeUp = Promise.withResolvers<void>()

  function reserve(source: Source): boolean {
    const host = hostOf(source)
    const count = hosts.get(host) ?? 0
    if (count >= AT_ONCE_PER_HOST) return false
    hosts.set(host, count + 1)
    return true
  }

  function release(source: Source): void {
    const host = hostOf(source)
    const count = (hosts.get(host) ?? 0) - 1
    if (count > 0) hosts.set(host, count)
    else hosts.delete(host)
  }

  function start(source: Parameters<typeof crawlSource>[1]): void {
    const crawl = crawlSource(ctx, source, stopping.signal)
      .catch(onError)
      .finally(() => {
        release(source)
        running.delete(crawl)
        wakeUp.resolve()
      })
    running.add(crawl)
  }

  async function look(): Promise<void> {
    const limit = AT_ONCE - running.size
    if (limit <= 0) return
    try {
      const choice = { limit, leaseMs, now: now(), reserve, release, onError }
      for (const source of await takeDue(data, choice)) start(source)
    } catch (error) {
      onError(error)
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      wakeUp = Promise.withResolvers()
      await look()
      const timer = setTimeout(wakeUp.resolve, lookMs)
      await wakeUp.promise
      clearTimeout(timer)
    }
  }

  const ended = run()
  return {
    wake: () => wakeUp.resolve(),
    async stop() {
      stopping.abort()
      wakeUp.resolve()
      await ended
      await Promise.all(running)
    },
  }
}

function hostOf({ feed_link }: Source): string {
  return URL.parse(feed_link ?? '')?.host ?? ''
}
