/** What a process of the load is told. */
export interface LoadConfig {
  readonly side: 'looseleaf' | 'json'
  /** One database a shard. */
  readonly urls: readonly string[]
  /** Posts that are there before. */
  readonly posts: number
  /** Pairs of posts that share a handle, at both ends of the numbers. */
  readonly twins: number
  /** Calls a second. */
  readonly rate: number
  readonly seed: number
}

export interface LoadReport {
  /** When each call was due, in milliseconds since 1970, and how long after that it was answered. */
  readonly samples: readonly { readonly at: number; readonly ms: number }[]
  /** Calls that failed, by kind and code. */
  readonly errors: Readonly<Record<string, number>>
}

/** What a process that fills is told. */
export interface FillerConfig {
  readonly urls: readonly string[]
  /** How long its part stays with it when it is killed, in milliseconds. */
  readonly leaseMs: number
}
