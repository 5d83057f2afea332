/** An item of a feed of any format, as plain text with absolute links. */
export interface FeedItem {
  /** Identifies the item in later imports: its id, its link, or a digest. Never empty. */
  readonly guid: string
  readonly title: string
  readonly body: string | undefined
  readonly link: string | undefined
  readonly author: string | undefined
  readonly published: Date | undefined
  /** Pictures, sounds and films, each address once. */
  readonly media: readonly Media[]
  /** Categories in their order, each once. */
  readonly tags: readonly string[]
}

export interface Media {
  readonly url: string
  readonly type: 'image' | 'audio' | 'video' | 'file'
}

export interface ParsedFeed {
  readonly type: 'feed'
  readonly format: 'RSS' | 'Atom' | 'RDF' | 'JSON Feed'
  readonly title: string
  readonly about: string
  /** Address of the site. */
  readonly link: string | undefined
  /** Address of the feed itself. */
  readonly feedLink: string | undefined
  /** Time of the feed as a whole. */
  readonly published: Date | undefined
  /** Time for which the feed says that it stays the same, in milliseconds. */
  readonly ttlMs?: number
  readonly items: readonly FeedItem[]
  /** Guids of items that the feed says it has deleted (RFC 6721). */
  readonly deleted: readonly string[]
  /** Notes for people about parts that were left out. */
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

/** A file that cannot be imported. The reason is a sentence for the person who imports it. */
export interface RefusedFile {
  readonly type: 'refused'
  readonly reason: string
  /** True for a feed without items: nothing is wrong with it, but there is nothing to import. */
  readonly isEmpty?: true
}

export type ParsedFile = ParsedFeed | ParsedOpml | RefusedFile

/** Largest number of items of a file that are kept. Later items are left out, with a note. */
export const MAX_ITEMS = 5000
/** Largest number of feeds of a list that are kept. Later feeds are left out, with a note. */
export const MAX_SUBSCRIPTIONS = 2000
/** Largest numbers of media and tags of an item that are kept. */
export const MAX_MEDIA = 10
export const MAX_TAGS = 20
export const MAX_TITLE_LENGTH = 300
export const MAX_BODY_LENGTH = 1200
