/** What every asynchronous call takes. */
export interface CallOptions {
  /** Ends the wait with `ABORTED`. A write that was sent already may still happen. */
  readonly signal?: AbortSignal | undefined
}
