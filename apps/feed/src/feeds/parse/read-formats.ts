import { parseAtomFeed, parseJsonFeed, parseRdfFeed, parseRssFeed } from 'feedsmith'
import type { RawMedia } from './media.ts'
import type { RawItem, RawText } from './raw-item.ts'

/** A feed as its format has it, before cleaning. */
export interface RawFeed {
  readonly title: RawText
  readonly about: RawText
  /** Addresses of the site; the preferred one is first. */
  readonly links: readonly (string | undefined)[]
  /** Address of the feed itself. */
  readonly feedLink: string | undefined
  /** Times of the feed as a whole; the preferred one is first. */
  readonly dates: readonly (string | undefined)[]
  /** Minutes for which the feed says that it stays the same. */
  readonly ttl?: number | undefined
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
    dates: [feed.pubDate, feed.lastBuildDate, feed.dc?.dates?.[0], feed.atom?.updated],
    ttl: feed.ttl,
    items: (feed.items ?? []).map((item) => ({
      ids: [item.guid?.value, item.atom?.id],
      title: html(item.title ?? item.itunes?.title ?? item.dc?.titles?.[0]),
      bodies: [
        html(item.description),
        html(item.content?.encoded),
        html(item.itunes?.summary),
        html(item.dc?.descriptions?.[0]),
      ],
      links: [
        item.link,
        alternateOf(item.atom?.links),
        item.guid?.isPermaLink === false ? undefined : absolute(item.guid?.value),
      ],
      media: [...(item.enclosures ?? []), ...enclosuresOf(item.atom?.links), ...mediaOf(item.media)],
      tags: [...(item.categories ?? []).map(({ name }) => name), ...(item.dc?.subjects ?? [])],
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
    dates: [feed.updated],
    items: (feed.entries ?? []).map((entry) => ({
      ids: [entry.id],
      title: typed(entry.title ?? mediaTitle(entry.media?.title?.value)),
      bodies: [
        typed(entry.summary),
        typed(entry.content),
        html(entry.media?.groups?.[0]?.description?.value),
      ],
      links: [alternateOf(entry.links), absolute(entry.content?.src), absolute(entry.id)],
      media: [...enclosuresOf(entry.links), ...mediaOf(entry.media)],
      tags: (entry.categories ?? []).map(({ label, term }) => label ?? term),
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
    dates: [feed.dc?.dates?.[0]],
    items: (feed.items ?? []).map((item) => ({
      ids: [item.rdf?.about],
      title: html(item.title ?? item.dc?.titles?.[0]),
      bodies: [html(item.description), html(item.content?.encoded), html(item.dc?.descriptions?.[0])],
      links: [item.link, absolute(item.rdf?.about)],
      media: mediaOf(item.media),
      tags: item.dc?.subjects ?? [],
      author: item.dc?.creators?.[0],
      dates: [item.dc?.dates?.[0], item.dcterms?.issued?.[0]],
    })),
  }
}

export function readJson(text: string): RawFeed {
  const feed = parseJsonFeed(JSON.parse(text))
  return {
    title: unescaped(feed.title),
    about: unescaped(feed.description),
    links: [feed.home_page_url],
    feedLink: feed.feed_url,
    dates: [],
    items: (feed.items ?? []).map((item) => ({
      ids: [item.id],
      title: unescaped(item.title),
      bodies: [plain(item.summary), plain(item.content_text), html(item.content_html)],
      // On a link blog, `external_url` is the page that the item is about.
      links: [item.external_url, item.url, absolute(item.id)],
      media: [
        ...(item.attachments ?? []).map(({ url, mime_type: type }) => ({ url, type })),
        { url: item.image, type: 'image' },
      ],
      tags: item.tags ?? [],
      author: item.authors?.[0]?.name,
      dates: [item.date_published, item.date_modified],
    })),
  }
}

function html(value: string | undefined): RawText {
  return { value, html: true }
}

/** Plain text that may have been escaped as HTML by mistake, which many writers do. Text with markup stays as it is. */
function unescaped(value: string | undefined): RawText {
  return { value, html: value !== undefined && /&[a-z\d#]+;/i.test(value) && !/<|&lt;|&#0*60;/i.test(value) }
}

function plain(value: string | undefined): RawText {
  return { value, html: false }
}

function typed(text: { readonly value?: string; readonly type?: string } | undefined): RawText {
  return { value: text?.value, html: text?.type !== 'text' }
}

interface MediaGroup {
  readonly contents?: readonly { readonly url?: string; readonly type?: string; readonly medium?: string }[]
  readonly thumbnails?: readonly { readonly url?: string; readonly width?: number }[]
}

/** A narrower thumbnail is the portrait of an author, or an icon. In pixels. */
const MIN_THUMBNAIL_WIDTH = 64

/** Returns the files of an item by Media RSS. A thumbnail counts if there is nothing else, and if it is large enough to be a picture. */
function mediaOf(media: (MediaGroup & { readonly groups?: readonly MediaGroup[] }) | undefined): RawMedia[] {
  const groups = media === undefined ? [] : [media, ...(media.groups ?? [])]
  const files = groups.flatMap(({ contents = [] }) =>
    contents.map(({ url, type, medium }) => ({ url, type: type ?? medium })),
  )
  if (files.length > 0) return files
  return groups.flatMap(({ thumbnails = [] }) =>
    thumbnails.flatMap(({ url, width }) =>
      width !== undefined && width < MIN_THUMBNAIL_WIDTH ? [] : [{ url, type: 'image' }],
    ),
  )
}

function enclosuresOf(links: readonly AnyLink[] | undefined): RawMedia[] {
  return (links ?? []).flatMap(({ rel, href, type }) => (rel === 'enclosure' ? [{ url: href, type }] : []))
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
