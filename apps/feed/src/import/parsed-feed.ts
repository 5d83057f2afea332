/** An item of a feed, whatever format it came in: plain text and absolute links. */
export interface FeedItem {
  /** What makes it the same item the next time: its id, its link, or a digest of it. Never empty. */
  readonly guid: string
  readonly title: string
  readonly body: string | undefined
  readonly link: string | undefined
  readonly author: string | undefined
  readonly published: Date | undefined
}

export interface ParsedFeed {
  readonly type: 'feed'
  readonly format: 'RSS' | 'Atom' | 'RDF' | 'JSON Feed'
  readonly title: string
  readonly about: string
  /** The site's address and the feed's own. */
  readonly link: string | undefined
  readonly feedLink: string | undefined
  readonly items: readonly FeedItem[]
  /** What was left out, in words for people. */
  readonly notes: readonly string[]
}

export interface SubscribedFeed {
  readonly title: string
  readonly about: string
  readonly feedLink: string
  readonly link: string | undefined
}

export interface ParsedOpml {
  readonly type: 'opml'
  readonly format: 'OPML'
  readonly title: string
  readonly subscriptions: readonly SubscribedFeed[]
  readonly notes: readonly string[]
}

/** A file that is no feed, and why, in a sentence for the person who brought it. */
export interface RefusedFile {
  readonly type: 'refused'
  readonly reason: string
}

export type ParsedFile = ParsedFeed | ParsedOpml | RefusedFile

/** Feeds of any size are read, but no more than this many items of one file are kept. */
export const MOST_ITEMS = 5000
/** Nor more than this many feeds of one list. */
export const MOST_SUBSCRIPTIONS = 2000
export const LONGEST_TITLE = 300
export const LONGEST_BODY = 1200
