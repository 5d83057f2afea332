import { MAX_TITLE_LENGTH, type SubscribedFeed } from '../parse/parsed-feed.ts'
import { tidyLine } from '../../text/plain-text.ts'
import { addressKey, hostOf, webLink } from '../../text/web-link.ts'

interface Outline {
  readonly text?: string
  readonly title?: string
  readonly description?: string
  readonly type?: string
  readonly url?: string
  readonly xmlUrl?: string
  readonly htmlUrl?: string
  readonly outlines?: readonly Outline[]
}

/** Deeper folders are ignored. */
const MAX_DEPTH = 50

export interface Subscriptions {
  readonly subscriptions: readonly SubscribedFeed[]
  /** Number of outlines that are neither a feed nor a folder. */
  readonly others: number
  /** Number of feeds whose address is not a web address. */
  readonly unusable: number
}

/** Returns the address of a line of type `link`, if it looks like that of a feed. Such a line may as well lead to a page, or to another list. */
function linkedFeed({ type, url }: Outline): string | undefined {
  return type === 'link' &&
    /(?:\b(?:feed|feeds|rss|atom|rdf)\b|\.(?:xml|rss|atom|rdf|json))\/?$/i.test(url ?? '')
    ? url
    : undefined
}

/** Collects the feeds of an outline from all folders. Each feed appears once, even if its addresses differ in their scheme. */
export function collectSubscriptions(outlines: readonly Outline[]): Subscriptions {
  const found = new Map<string, SubscribedFeed>()
  let others = 0
  let unusable = 0
  const visit = (outline: Outline, depth: number): void => {
    const feedLink = webLink(outline.xmlUrl ?? linkedFeed(outline))
    const key = feedLink === undefined ? undefined : addressKey(feedLink)
    if (feedLink !== undefined && key !== undefined && !found.has(key)) {
      found.set(key, {
        title: tidyLine(outline.title ?? outline.text ?? '', MAX_TITLE_LENGTH) || hostOf(feedLink),
        about: tidyLine(outline.description ?? '', 300),
        feedLink,
        link: webLink(outline.htmlUrl, feedLink),
      })
    } else if (feedLink === undefined) {
      if (outline.xmlUrl !== undefined) unusable++
      else if (outline.outlines === undefined) others++
    }
    if (depth < MAX_DEPTH) for (const child of outline.outlines ?? []) visit(child, depth + 1)
  }
  for (const outline of outlines) visit(outline, 0)
  return { subscriptions: [...found.values()], others, unusable }
}
