/** A statement that a connection has sent, told when its answer has come or its wait has ended. */
export interface SentStatement {
  /** The shard's name. */
  readonly shard: string
  /** With placeholders for values, one for each: of a statement of many rows a long text, which is kept and shared. */
  readonly text: string
  /** Rows that came, or that it has changed; 0 where it failed. */
  readonly rows: number
  /** When it was sent, by `performance.now()`. */
  readonly sentAt: number
  /** Milliseconds until its answer, the wait for a connection left out. */
  readonly durationMs: number
  /** What the database or its client calls the failure, such as `ER_DUP_ENTRY`; undefined where it succeeded. */
  readonly failure: string | undefined
}

/** Takes what the connections of a driver tell of their statements. */
export interface StatementListener {
  /** While false nothing is told, and nothing has to be made for it. */
  readonly isListening: boolean
  /** Called once for each statement, in the asynchronous context in which it was sent. May not throw. */
  sent(statement: SentStatement): void
}
