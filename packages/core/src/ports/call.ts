/** What calls take that may be answered by a replica. */
export interface ReplicaReadOptions {
  /** Where to read. `replica`: from one that is known to be fresh enough, on each shard that has such a one. Default: `primary`. */
  readonly from?: 'primary' | 'replica' | undefined
  /**
   * How old an answer of replicas may be, in milliseconds: it knows everything that was acknowledged so long before the call.
   * Default: 1,000.
   */
  readonly maxStalenessMs?: number | undefined
  /** The `token` of a write, or what `sessionToken` has given, in any process: the answer knows everything that was acknowledged before. */
  readonly after?: string | undefined
}

/** What every asynchronous call takes. */
export interface CallOptions {
  /** Ends the wait with `ABORTED`. A write that was sent already may still happen. */
  readonly signal?: AbortSignal | undefined
}
