import type { DatabaseConnection, QueryResult } from 'kysely'
import type { HintedQuery, Row } from './session.ts'

/** A connection that may send all statements of a transaction together, with its BEGIN and its COMMIT: a packet. */
export interface PacketConnection extends DatabaseConnection {
  /**
   * Runs the statements in one transaction, in one round trip. Resolves with undefined if these statements cannot be sent together;
   * nothing was done then. Rejects with errors from before the sending only. After a failure the connection has no open transaction, or
   * is unusable.
   */
  executePacket?(queries: readonly HintedQuery[]): Promise<PacketAnswer | undefined>
}

export type PacketAnswer =
  /** The transaction is committed. */
  | { readonly results: readonly QueryResult<Row>[] }
  | {
      readonly error: unknown
      /** Place of the statement that failed, from 0; that of no statement if BEGIN, COMMIT or the connection failed. */
      readonly place: number
      /** True if the transaction may have been committed, or may still be. */
      readonly mayBeCommitted: boolean
    }
