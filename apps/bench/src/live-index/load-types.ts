/** Configuration of the process that makes the load. */
export interface LoadConfig {
  readonly side: 'looseleaf' | 'json'
  /** One database per shard. */
  readonly urls: readonly string[]
  /** Posts that are stored before the load begins. */
  readonly posts: number
  /** Pairs of posts that share a handle: the first posts with the last ones. */
  readonly twins: number
  /** Calls a second. */
  readonly rate: number
  readonly seed: number
}

export interface LoadReport {
  /** For each call: when it was due, in milliseconds since 1970, and how many milliseconds later it was answered. */
  readonly samples: readonly { readonly at: number; readonly ms: number }[]
  /** Number of failed calls, by kind of call and error code. */
  readonly errors: Readonly<Record<string, number>>
}

/** Configuration of a process that fills the added indexes. */
export interface FillerConfig {
  readonly urls: readonly string[]
  /** Milliseconds until another process may take over the part of a killed one. */
  readonly leaseMs: number
}
