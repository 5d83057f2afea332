import { LONGEST_TITLE, type SubscribedFeed } from './parsed-feed.ts'
import { tidyLine } from './plain-text.ts'
import { addressKey, hostOf, webLink } from './web-link.ts'

interface Outline {
  readonly text?: string
  readonly title?: string
  readonly description?: string
  readonly xmlUrl?: string
  readonly htmlUrl?: string
  readonly outlines?: readonly Outline[]
}

/** Folders in folders deeper than this are not opened. */
const DEEPEST = 50

export interface Subscriptions {
  readonly subscriptions: readonly SubscribedFeed[]
  /** Outlines that are neither a feed nor a folder. */
  readonly others: number
  /** Feeds whose address is not one of the web. */
  readonly unusable: number
}

/** Every feed of an outline, from all its folders, each once, whatever scheme its address has. */
export function collectSubscriptions(outlines: readonly Outline[]): Subscriptions {
  const found = new Map<string, SubscribedFeed>()
  let others = 0
  let unusable = 0
  const visit = (outline: Outline, depth: number): void => {
    const feedLink = webLink(outline.xmlUrl)
    const key = feedLink === undefined ? undefined : addressKey(feedLink)
    if (feedLink !== undefined && key !== undefined && !found.has(key)) {
      found.set(key, {
        title: tidyLine(outline.title ?? outline.text ?? '', LONGEST_TITLE) || hostOf(feedLink),
        about: tidyLine(outline.description ?? '', 300),
        feedLink,
        link: webLink(outline.htmlUrl, feedLink),
      })
    } else if (feedLink === undefined) {
      if (outline.xmlUrl !== undefined) unusable++
      else if (outline.outlines === undefined) others++
    }
    if (depth < DEEPEST) for (const child of outline.outlines ?? []) visit(child, depth + 1)
  }
  for (const outline of outlines) visit(outline, 0)
  return { subscriptions: [...found.values()], others, unusable }
}
