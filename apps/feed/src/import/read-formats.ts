import { parseAtomFeed, parseJsonFeed, parseRdfFeed, parseRssFeed } from 'feedsmith'
import type { RawItem, RawText } from './raw-item.ts'

/** A feed as its format has it, before cleaning. */
export interface RawFeed {
  readonly title: RawText
  readonly about: RawText
  /** Addresses of the site; the preferred one is first. */
  readonly links: readonly (string | undefined)[]
  /** Address of the feed itself. */
  readonly feedLink: string | undefined
  readonly items: readonly RawItem[]
}

interface AnyLink {
  readonly href?: string
  readonly rel?: string
  readonly type?: string
}

export function readRss(text: string): RawFeed {
  const feed = parseRssFeed(text)
  return {
    title: html(feed.title),
    about: html(feed.description),
    links: [feed.link, alternateOf(feed.atom?.links)],
    feedLink: selfOf(feed.atom?.links),
    items: (feed.items ?? []).map((item) => ({
      ids: [item.guid?.value, item.atom?.id],
      title: html(item.title ?? item.itunes?.title ?? item.dc?.titles?.[0]),
      bodies: [html(item.description), html(item.content?.encoded), html(item.itunes?.summary)],
      links: [
        item.link,
        alternateOf(item.atom?.links),
        item.guid?.isPermaLink === false ? undefined : absolute(item.guid?.value),
        item.enclosures?.[0]?.url,
      ],
      author:
        item.authors?.[0]?.name ??
        item.dc?.creators?.[0] ??
        item.itunes?.author ??
        item.atom?.authors?.[0]?.name,
      dates: [
        item.pubDate,
        item.dc?.dates?.[0],
        item.dcterms?.issued?.[0],
        item.atom?.published,
        item.atom?.updated,
      ],
    })),
  }
}

export function readAtom(text: string): RawFeed {
  const feed = parseAtomFeed(text)
  return {
    title: typed(feed.title),
    about: typed(feed.subtitle),
    links: [alternateOf(feed.links)],
    feedLink: selfOf(feed.links),
    items: (feed.entries ?? []).map((entry) => ({
      ids: [entry.id],
      title: typed(entry.title ?? mediaTitle(entry.media?.title?.value)),
      bodies: [
        typed(entry.summary),
        typed(entry.content),
        html(entry.media?.groups?.[0]?.description?.value),
      ],
      links: [alternateOf(entry.links), absolute(entry.content?.src), absolute(entry.id)],
      author: entry.authors?.[0]?.name ?? entry.dc?.creators?.[0],
      dates: [entry.published, entry.updated, entry.dc?.dates?.[0]],
    })),
  }
}

export function readRdf(text: string): RawFeed {
  const feed = parseRdfFeed(text)
  return {
    title: html(feed.title),
    about: html(feed.description),
    links: [feed.link, alternateOf(feed.atom?.links)],
    feedLink: selfOf(feed.atom?.links),
    items: (feed.items ?? []).map((item) => ({
      ids: [item.rdf?.about],
      title: html(item.title ?? item.dc?.titles?.[0]),
      bodies: [html(item.description), html(item.content?.encoded)],
      links: [item.link, absolute(item.rdf?.about)],
      author: item.dc?.creators?.[0],
      dates: [item.dc?.dates?.[0], item.dcterms?.issued?.[0]],
    })),
  }
}

export function readJson(text: string): RawFeed {
  const feed = parseJsonFeed(JSON.parse(text))
  return {
    title: plain(feed.title),
    about: plain(feed.description),
    links: [feed.home_page_url],
    feedLink: feed.feed_url,
    items: (feed.items ?? []).map((item) => ({
      ids: [item.id],
      title: plain(item.title),
      bodies: [plain(item.summary), plain(item.content_text), html(item.content_html)],
      // On a link blog, `external_url` is the page that the item is about.
      links: [item.external_url, item.url, absolute(item.id)],
      author: item.authors?.[0]?.name,
      dates: [item.date_published, item.date_modified],
    })),
  }
}

function html(value: string | undefined): RawText {
  return { value, html: true }
}

function plain(value: string | undefined): RawText {
  return { value, html: false }
}

function typed(text: { readonly value?: string; readonly type?: string } | undefined): RawText {
  return { value: text?.value, html: text?.type !== 'text' }
}

function mediaTitle(value: string | undefined): { value: string } | undefined {
  return value === undefined ? undefined : { value }
}

function alternateOf(links: readonly AnyLink[] | undefined): string | undefined {
  const alternates = links?.filter((link) => link.rel === undefined || link.rel === 'alternate') ?? []
  return (alternates.find((link) => link.type === undefined || /html/.test(link.type)) ?? alternates[0])?.href
}

function selfOf(links: readonly AnyLink[] | undefined): string | undefined {
  return links?.find((link) => link.rel === 'self')?.href
}

/** Returns an id as a link if it is an absolute web address. */
function absolute(text: string | undefined): string | undefined {
  return text !== undefined && /^\s*https?:\/\//i.test(text) ? text : undefined
}
