/** Options of calls that a replica may answer. */
export interface ReplicaReadOptions {
  /** `replica` reads from a replica that is fresh enough, on each shard that has one. Default: `primary`. */
  readonly from?: 'primary' | 'replica' | undefined
  /**
   * Largest age of a replica's answer, in milliseconds. The answer includes every write that was acknowledged at least this long
   * before the call. Default: 1,000.
   */
  readonly maxStalenessMs?: number | undefined
  /** A session token, of a write or of `sessionToken`, from any process. The answer includes every write acknowledged before it. */
  readonly after?: string | undefined
}

/** Options of every asynchronous call. */
export interface CallOptions {
  /** Rejects the call with `ABORTED` when it fires. A write in flight may still happen. */
  readonly signal?: AbortSignal | undefined
}
