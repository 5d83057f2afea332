import { generateAtomFeed, generateJsonFeed, generateRssFeed } from 'feedsmith'

/** An item of a feed that is written for the day. */
export interface PublishedItem {
  readonly guid: string
  readonly title: string
  readonly body: string
  readonly path: string
  readonly published: Date
  readonly tags: readonly string[]
  /** Address path of a sound or a picture; undefined for none. */
  readonly media?: string | undefined
}

export const formats = ['RSS', 'Atom', 'JSON Feed'] as const
export type Format = (typeof formats)[number]

export interface WrittenFeed {
  readonly type: string
  readonly text: string
}

/** Writes a feed document, the newest item first. */
export function writeFeed(
  format: Format,
  about: { readonly title: string; readonly about: string; readonly origin: string },
  items: readonly PublishedItem[],
): WrittenFeed {
  const { title, origin } = about
  const link = (path: string): string => `${origin}${path}`
  if (format === 'RSS') {
    const text = generateRssFeed({
      title,
      link: link('/'),
      description: about.about,
      items: items.map((item) => ({
        title: item.title,
        link: link(item.path),
        description: item.body,
        pubDate: item.published,
        guid: { value: item.guid, isPermaLink: false },
        categories: item.tags.map((name) => ({ name })),
        ...(item.media !== undefined && {
          enclosures: [{ url: link(item.media), length: 1_000_000, type: mediaType(item.media) }],
        }),
      })),
    })
    return { type: 'application/rss+xml; charset=utf-8', text }
  }
  if (format === 'Atom') {
    const text = generateAtomFeed({
      id: link('/'),
      title: { value: title },
      updated: items[0]?.published ?? new Date(0),
      links: [
        { rel: 'alternate', href: link('/') },
        { rel: 'self', href: link('/feed') },
      ],
      entries: items.map((item) => ({
        id: item.guid,
        title: { value: item.title },
        summary: { value: item.body },
        published: item.published,
        updated: item.published,
        categories: item.tags.map((term) => ({ term })),
        links: [
          { rel: 'alternate', href: link(item.path) },
          ...(item.media === undefined
            ? []
            : [{ rel: 'enclosure', href: link(item.media), type: mediaType(item.media) }]),
        ],
      })),
    })
    return { type: 'application/atom+xml; charset=utf-8', text }
  }
  const feed = generateJsonFeed({
    title,
    description: about.about,
    home_page_url: link('/'),
    feed_url: link('/feed'),
    items: items.map((item) => ({
      id: item.guid,
      url: link(item.path),
      title: item.title,
      content_text: item.body,
      date_published: item.published,
      tags: [...item.tags],
      ...(item.media !== undefined && {
        attachments: [{ url: link(item.media), mime_type: mediaType(item.media) }],
      }),
    })),
  })
  return { type: 'application/feed+json; charset=utf-8', text: JSON.stringify(feed) }
}

function mediaType(path: string): string {
  return path.endsWith('.mp3') ? 'audio/mpeg' : 'image/jpeg'
}
