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

/** Options of a call that writes many items. */
export interface BulkOptions extends CallOptions {
  /**
   * If true, the call resolves with the fate of each item. If false, the default, it resolves with the values, and rejects
   * with `SOME_FAILED` if an item failed.
   */
  readonly fates?: boolean | undefined
}

/** Options of a call that resolves with the fate of each item. */
export interface FateOptions extends BulkOptions {
  readonly fates: true
}

/** Options of a call that resolves with the values, and rejects if an item failed. */
export interface ValueOptions extends BulkOptions {
  readonly fates?: false | undefined
}
