import { platformTime, type StatementListener } from '@looseleaf/core'

/** Tells of the statements of one shard's connections. */
export interface StatementTeller {
  /** While false, `tell` need not be called. */
  readonly isListening: boolean
  /** `sentAt` by `performance.now()`; `failure` as the database or its client calls it. */
  tell(text: string, sentAt: number, rows: number, failure?: string): void
}

/** Undefined where there is nobody who could listen. */
export function statementTeller(
  shard: string,
  listener: StatementListener | undefined,
): StatementTeller | undefined {
  return (
    listener && {
      get isListening() {
        return listener.isListening
      },
      tell: (text, sentAt, rows, failure) =>
        listener.sent({ shard, text, rows, sentAt, durationMs: platformTime.elapsed() - sentAt, failure }),
    }
  )
}
