/** Numbers of a site at one moment, for the strip above its pages. */
export interface Pulse {
  readonly at: Date
  /** Entries that came in a second, over the last ten seconds. */
  readonly posts: number
  /** Statements of this process in a second, over the last ten seconds. */
  readonly statements: number
  /** Milliseconds that one call to the store in a hundred exceeded in the last minute; undefined with fewer than a hundred calls. */
  readonly p99Ms: number | undefined
  /** Inbox items that the entries since the start of the process should have: one for each follower. */
  readonly expected: number
  /** Number of these items that exist. */
  readonly delivered: number
  /** Items beyond the first of a person and an entry. */
  readonly twice: number
  /** Seconds until the end of the day that is being played; undefined if there is none. */
  readonly playing: number | undefined
}

/** Returns the numbers of the site now. Costs no statement. */
export type ReadPulse = () => Pulse
