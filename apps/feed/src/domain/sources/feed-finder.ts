/** A feed that a page names, or that is at the address itself. */
export interface FoundFeed {
  readonly address: string
  readonly title: string
}

/** Feeds at an address. There is at least one, or a sentence that says why there is none. */
export type Discovery =
  | { readonly type: 'found'; readonly feeds: readonly FoundFeed[] }
  | { readonly type: 'refused'; readonly reason: string }

/** The part of a crawler that pages use. */
export interface FeedFinder {
  /** Finds the feeds at an address that a person has typed. Never rejects. */
  discover(text: string): Promise<Discovery>
  /** Looks for due sources at once. Does nothing if another process fetches them. */
  wake(): void
  /** Pairs of host and port that this process may fetch although they are not public. A demonstration adds its own servers. */
  readonly allowed: Set<string>
}

/** Finder of a site that fetches no feeds. */
export const NO_FEEDS: FeedFinder = {
  discover: async () => ({ type: 'refused', reason: 'This site fetches no feeds.' }),
  wake: () => undefined,
  allowed: new Set(),
}
