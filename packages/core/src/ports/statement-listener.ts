/** A statement of a connection, reported when its answer arrived or its wait ended. */
export interface SentStatement {
  /** Name of the shard. */
  readonly shard: string
  /** SQL with one placeholder per value. Long for a statement of many rows, but equal statements share one string. */
  readonly text: string
  /** Rows returned or changed; 0 if it failed. */
  readonly rows: number
  /** Time of sending by `performance.now()`, in milliseconds. */
  readonly sentAt: number
  /** Milliseconds until the answer, without the wait for a connection. */
  readonly durationMs: number
  /** Error name of the database or its client, such as `ER_DUP_ENTRY`; undefined if it succeeded. */
  readonly failure: string | undefined
}

/** Receives the statements of a driver's connections. */
export interface StatementListener {
  /** If false, `sent` is not called, and drivers need not create statements. */
  readonly isListening: boolean
  /** Called once for each statement, in the asynchronous context in which it was sent. Must not throw. */
  sent(statement: SentStatement): void
}
