import { Parser } from 'htmlparser2'
import type { FileParser } from '../../feeds/parse/thread/file-parser.ts'
import { tidyLine } from '../../text/plain-text.ts'
import { hostOf, webLink } from '../../text/web-link.ts'
import type { Discovery, FoundFeed } from '../../domain/sources/feed-finder.ts'
import type { Fetcher } from './fetch-feed.ts'
import { reasonOfPage, webPageOf } from './web-page.ts'

/** Largest number of feeds of a page that a person may choose from. */
const MAX_FEEDS = 20

const FEED_TYPE = /^\s*application\/(?:(?:rss|atom|rdf)\+xml|feed\+json)\s*(?:;|$)/i

/** Paths of feeds on sites whose pages name none, most frequent first. */
const COMMON_PATHS = ['/feed', '/feed.xml', '/rss.xml', '/atom.xml', '/index.xml', '/feed.json']

export interface DiscoveryParts {
  readonly fetcher: Fetcher
  readonly parser: FileParser
}

export interface DiscoveryOptions {
  readonly now?: Date
  /** Breaks the search off, which then has found nothing. */
  readonly signal?: AbortSignal
}

/**
 * Finds the feeds at an address: the feed itself, or those that the page there names. A page without any is tried at some common
 * places. Other pages are not read. A missing scheme is https.
 */
export async function discoverFeeds(
  parts: DiscoveryParts,
  text: string,
  options: DiscoveryOptions = {},
): Promise<Discovery> {
  const { signal } = options
  const late = Promise.withResolvers<Discovery>()
  const onAbort = (): void => late.resolve(refused('The search for a feed there took too long.'))
  signal?.addEventListener('abort', onAbort)
  try {
    // The parser may be busy with other files when the signal fires.
    return await Promise.race([searchFeeds(parts, text, options), late.promise])
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

async function searchFeeds(
  { fetcher, parser }: DiscoveryParts,
  text: string,
  { now = new Date(), signal }: DiscoveryOptions,
): Promise<Discovery> {
  const typed = text.trim()
  const address = webLink(/^[a-z][a-z0-9+.-]*:(?!\d)/i.test(typed) ? typed : `https://${typed}`)
  if (address === undefined) return refused('This is not the address of a page or a feed on the web.')
  const options = signal === undefined ? {} : { signal }
  const fetched = await fetcher.fetch(address, options)
  if (fetched.type === 'failed') return refused(fetched.failure.reason)
  if (fetched.type === 'unchanged') return refused('Its server did not send the page.')
  const page = webPageOf(fetched.bytes)
  if (page === undefined) return feedIn(fetched.bytes, fetched.movedTo ?? address, fetched.address)
  const named = feedsOfPage(page, fetched.address)
  if (named.length > 1) return { type: 'found', feeds: named }
  if (named[0] !== undefined) return onlyFeed(named[0].address)
  for (const path of COMMON_PATHS) {
    const place = new URL(path, fetched.address).href
    const answer = await fetcher.fetch(place, options)
    if (answer.type !== 'body' || webPageOf(answer.bytes) !== undefined) continue
    const found = await feedIn(answer.bytes, answer.movedTo ?? place, answer.address)
    if (found.type === 'found') return found
  }
  return refused(`${reasonOfPage(page)} The page names no feed either.`)

  async function onlyFeed(place: string): Promise<Discovery> {
    const answer = await fetcher.fetch(place, options)
    if (answer.type === 'body') return feedIn(answer.bytes, answer.movedTo ?? place, answer.address)
    return refused(
      `The page names a feed. ${answer.type === 'failed' ? answer.failure.reason : 'Its server did not send it.'}`,
    )
  }

  async function feedIn(bytes: Uint8Array, feedAddress: string, base: string): Promise<Discovery> {
    const parsed = await parser.parse(bytes, { name: hostOf(feedAddress), now, address: base })
    switch (parsed.type) {
      case 'refused':
        return parsed.isEmpty
          ? { type: 'found', feeds: [{ address: feedAddress, title: hostOf(feedAddress) }] }
          : refused(parsed.reason)
      case 'opml':
        return refused('This is a list of feeds. Import it as a file.')
      case 'feed':
        return { type: 'found', feeds: [{ address: feedAddress, title: parsed.title }] }
    }
  }
}

/** Returns the feeds that a page names by `rel="alternate"`, in their order. */
export function feedsOfPage(html: string, address: string): readonly FoundFeed[] {
  const found = new Map<string, FoundFeed>()
  let base = address
  let hasBase = false
  const parser = new Parser({
    onopentag(name, { href, rel = '', type = '', title = '' }) {
      if (name === 'base' && !hasBase && href !== undefined) {
        base = webLink(href, address) ?? address
        hasBase = true
      }
      if (name !== 'link' || found.size === MAX_FEEDS) return
      if (!/(?:^|\s)(?:alternate|feed)(?:\s|$)/i.test(rel) || !FEED_TYPE.test(type)) return
      const feed = webLink(href, base)
      if (feed !== undefined && !found.has(feed))
        found.set(feed, { address: feed, title: tidyLine(title, 120) || feed })
    },
  })
  parser.end(html)
  return [...found.values()]
}

function refused(reason: string): Discovery {
  return { type: 'refused', reason }
}
