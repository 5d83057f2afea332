import type { FileParser } from '../feeds/parse/thread/file-parser.ts'
import type { SiteData } from '../kinds/site-data.ts'
import type { Source } from '../kinds/source.ts'
import { crawlSource } from './crawl-source.ts'
import { takeDue, type TakeOptions } from './due.ts'
import type { Fetcher } from './fetch/fetch-feed.ts'
import { POLITE, type IntervalBounds } from './schedule.ts'

/** Sources that one process fetches at once, and those of one host and of the person who brought them in among them. */
const AT_ONCE = 8
const AT_ONCE_PER_HOST = 2
const AT_ONCE_PER_PERSON = 4
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
  /** Time for which a process has a source, in milliseconds. Default: five minutes, and at most ten times the shortest interval. */
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
  const { bounds = POLITE } = options
  const { lookMs = Math.min(LOOK_MS, bounds.min), leaseMs = Math.min(LEASE_MS, 10 * bounds.min) } = options
  const ctx = { data, fetcher, parser, now, bounds }
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  const places = createPlaces()
  const passed = new Map<number, Date>()
  let wakeUp = Promise.withResolvers<void>()

  function start(source: Parameters<typeof crawlSource>[1]): void {
    const crawl = crawlSource(ctx, source, stopping.signal)
      .catch(onError)
      .finally(() => {
        places.release(source)
        running.delete(crawl)
        wakeUp.resolve()
      })
    running.add(crawl)
  }

  async function look(): Promise<void> {
    const limit = AT_ONCE - running.size
    if (limit <= 0) return
    try {
      const choice = { limit, leaseMs, now: now(), onError, passed, ...places }
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

/** Counts the sources that are fetched now, so that no host and no person takes all places. */
function createPlaces(): Pick<TakeOptions, 'reserve' | 'release'> {
  const taken = new Map<string, number>()
  const countOf = (key: string): number => taken.get(key) ?? 0
  return {
    reserve(source) {
      const shares = sharesOf(source)
      if (shares.some(([key, most]) => countOf(key) >= most)) return false
      for (const [key] of shares) taken.set(key, countOf(key) + 1)
      return true
    },
    release(source) {
      for (const [key] of sharesOf(source)) {
        const count = countOf(key) - 1
        if (count > 0) taken.set(key, count)
        else taken.delete(key)
      }
    },
  }
}

/** Returns the shares that a source takes of, each with its size. */
function sharesOf({ feed_link, person_id }: Source): readonly (readonly [string, number])[] {
  const host = [`host ${URL.parse(feed_link ?? '')?.host}`, AT_ONCE_PER_HOST] as const
  return person_id === undefined ? [host] : [host, [`person ${person_id}`, AT_ONCE_PER_PERSON]]
}
