import { LooseleafError, memoryShards } from 'looseleaf'
import { onTestFinished } from 'vitest'
import { crawlSource, type CrawlContext } from '../src/crawler/crawl-source.ts'
import { takeDue } from '../src/crawler/due.ts'
import { createFetcher, type Fetcher } from '../src/crawler/fetch/fetch-feed.ts'
import { createGuard } from '../src/crawler/guard/guard.ts'
import { POLITE } from '../src/crawler/schedule.ts'
import { addSources } from '../src/domain/sources/add-sources.ts'
import { openSite, type Site } from '../src/domain/site/site.ts'
import { createFileParser } from '../src/feeds/parse/thread/file-parser.ts'
import type { Source } from '../src/kinds/source.ts'
import { createShardFaults } from '../src/stage/faults/shard-faults.ts'
import { openFeedServer, type FeedServer } from './feed-server.ts'

export const HOUR = 3_600_000
/** Length of a lease in milliseconds. */
export const LEASE = 60_000

/** Shared by all tests, because the start of a thread takes longer than most of them. An idle thread ends with the process. */
const parser = createFileParser()

/** A site with sources on a server of feeds, whose clock a test moves. */
export interface CrawlBench {
  readonly site: Site
  readonly server: FeedServer
  readonly fetcher: Fetcher
  /** Parts of a crawler, for `crawlSource`. */
  readonly ctx: CrawlContext
  /** Time of the site. */
  readonly time: Date
  pass(ms: number): void
  /** Makes a shard reject all calls. */
  stop(shard: string): void
  /** Lets all shards answer again. */
  bringBack(): void
  /** Adds a source by its path on the server, and returns its id. */
  add(path: string): Promise<string>
  /** Returns a stored source. Throws if there is none. */
  sourceOf(id: string): Promise<Source>
  /** Fetches a source once, although it may not be due. Returns the source afterwards. */
  crawl(id: string): Promise<Source>
  /** Takes sources that are due, and returns their ids. */
  take(limit?: number): Promise<string[]>
  /** Returns the titles of a source's entries. */
  titles(sourceId: string): Promise<string[]>
}

/** Opens a bench for the test that runs now. */
export async function openCrawlBench(): Promise<CrawlBench> {
  const { shards, refusals } = createShardFaults(memoryShards(2))
  const site = await openSite({ shards, cleaner: false })
  const server = await openFeedServer()
  const fetcher = createFetcher({ guard: createGuard({ allow: [server.place] }) })
  onTestFinished(async () => {
    await fetcher.close()
    await server.close()
    await site.close()
  })
  const { data } = site
  let time = new Date('2026-06-01T12:00:00Z')
  const ctx: CrawlContext = { data, fetcher, parser, now: () => time, bounds: POLITE }

  async function sourceOf(id: string): Promise<Source> {
    const source = await data.sources.get(id)
    if (source === undefined) throw new Error('The source is not there.')
    return source
  }

  return {
    site,
    server,
    fetcher,
    ctx,
    get time() {
      return time
    },
    pass: (ms) => void (time = new Date(time.getTime() + ms)),
    stop(name) {
      const down = new LooseleafError('SHARD_UNAVAILABLE', `${name} is down.`, { shard: name })
      refusals.add(({ shard }) => (shard === name ? down : undefined))
    },
    bringBack: () => refusals.clear(),
    async add(path) {
      const feeds = [{ address: `${server.origin}${path}` }]
      const [saved] = await addSources(data, feeds, { personId: undefined, now: time })
      return saved?.id ?? ''
    },
    sourceOf,
    async crawl(id) {
      const leased_until = new Date(time.getTime() + LEASE)
      const source = await data.sources.update(id, { next_check: leased_until, leased_until })
      await crawlSource(ctx, { ...source, leased_until }, new AbortController().signal)
      return sourceOf(id)
    },
    async take(limit = 10) {
      const nothing = (): undefined => undefined
      const parts = { reserve: () => true, release: nothing, passed: new Map(), onError: nothing }
      return (await takeDue(data, { limit, leaseMs: LEASE, now: time, ...parts })).map(({ id }) => id)
    },
    titles: async (source_id) =>
      (await data.entries.byPublisher.all({ publisher_id: source_id })).map(({ title }) => title),
  }
}
