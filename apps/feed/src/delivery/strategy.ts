/** Decides for a channel whether its entries are delivered to each follower, or read by each follower at each visit. */
export interface Strategy {
  readonly name: 'push' | 'pull' | 'hybrid'
  /** Largest number of followers of a channel whose entries are delivered. A channel that has had more is read until it has at most half of it. */
  readonly pushUpTo: number
}

/** Delivers all entries: a home page reads one range, and a post costs a write per follower. */
export const push: Strategy = { name: 'push', pushUpTo: Infinity }

/** Delivers no entries: a post costs no writes, and a home page reads a range per followed channel. */
export const pull: Strategy = { name: 'pull', pushUpTo: 0 }

/** Delivers entries of channels with up to this many followers. */
export function hybrid(pushUpTo = 1_000): Strategy {
  return { name: 'hybrid', pushUpTo }
}
