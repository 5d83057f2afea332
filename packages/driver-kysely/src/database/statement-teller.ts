import { platformTime, type StatementListener } from '@looseleaf/core/internal'

/** Reports the statements of one shard's connections to a listener. */
export interface StatementTeller {
  /** While false, `tell` need not be called. */
  readonly isListening: boolean
  /** `sentAt`: by `performance.now()`. `rows`: rows returned or changed. `failure`: in the words of the database or its client. */
  tell(text: string, sentAt: number, rows: number, failure?: string): void
}

/** Creates the teller of a shard; undefined without a listener. */
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
