import type { HintedQuery, PacketAnswer } from '@looseleaf/driver-kysely/internal'
import { clientError, hasCode, isOtherSession, refusesPackets, sessionError } from '../errors/errors.ts'
import { sessionMismatch } from '../settings/answer-status.ts'
import { tokenStatement } from '../settings/session-token.ts'
import { bytesOf, textOf } from './literals.ts'
import type { ClientAnswer, ClientConnection, ClientResult, StatedCounts } from './mysql2.ts'

/** Knowledge about packets that the connections of one pool share. */
export interface PacketUse {
  /** True once the server, or a proxy before it, has refused several statements in one packet. */
  isRefused: boolean
}

export interface PacketOptions {
  readonly client: Pick<ClientConnection, 'queryAll' | 'query'>
  readonly token: Buffer
  readonly maxPacketBytes: number
  readonly use: PacketUse
  /** See `ConnectionOptions`. */
  readonly isDirect: boolean
  /** Sends a text and checks its answer. `description` is for listeners. */
  ask(
    description: () => string,
    writes: boolean,
    begin: (done: (error: unknown, answer: ClientAnswer) => void) => void,
  ): Promise<ClientResult>
  /** False once the connection was ended or lost. */
  isUsable(): boolean
  destroy(): void
}

/** Bytes that BEGIN, COMMIT and the token add to a packet, and those that a parameter adds beyond its value. */
const PACKET_OVERHEAD_BYTES = 1024

/**
 * Sends transactions as packets: `START TRANSACTION`, the statements and `COMMIT` in one text. The server runs them in order, and none after
 * the first that fails. Statements are never sent one after the other without their answers: a deadlock undoes the transaction, and the
 * next of them would commit by itself.
 *
 * A pooler may take a packet apart. So every prefix has to be right as well, and the writers of packets see to that by their order. `COMMIT`
 * compares no token, so a check of the token follows it there.
 */
export function createPackets(
  options: PacketOptions,
): (queries: readonly HintedQuery[]) => Promise<PacketAnswer | undefined> {
  const { client, token, maxPacketBytes, use, isDirect, ask, isUsable, destroy } = options

  /**
   * Undoes what a failed packet has left open. A pooler that takes packets apart could send the ROLLBACK to the session of another client, whose
   * transaction would be acknowledged and undone. So behind a pooler the connection is closed, and the server rolls back.
   */
  async function rollBack(): Promise<void> {
    if (!isDirect) return destroy()
    const check = tokenStatement(token)
    const sql = `${check}; ROLLBACK; ${check}`
    try {
      await ask(
        () => 'ROLLBACK',
        false,
        (done) => client.query({ sql }, done),
      )
    } catch {
      destroy()
    }
  }

  // Without a pooler the statements before the COMMIT have compared the token of the same session.
  const ending = isDirect ? ['COMMIT'] : ['COMMIT', tokenStatement(token)]

  /** Returns why these answers do not come from one transaction of this connection, or undefined. */
  function mismatchOf(answers: readonly StatedCounts[], statements: number): string | undefined {
    for (const [i, { serverStatus }] of answers.entries()) {
      const mismatch = sessionMismatch(serverStatus, i <= statements)
      if (mismatch !== undefined) return mismatch
    }
    return undefined
  }

  return async (queries) => {
    if (use.isRefused || mayBeTooLong(queries, maxPacketBytes)) return undefined
    const texts = queries.map((query) => textOf(query, token))
    const sql = ['START TRANSACTION', ...texts, ...ending].join('; ')
    if (sql.length >= maxPacketBytes) return undefined
    const answers: StatedCounts[] = []
    const isComplete = (): boolean => answers.length === queries.length + 2
    const failed = (error: unknown): PacketAnswer => ({
      error,
      place: answers.length - 1,
      // Everything was sent. The meaning of the error tells whether the server can have gone on.
      mayBeCommitted: true,
    })
    try {
      await ask(
        () => `START TRANSACTION; ${queries.map((query) => query.sql.trim()).join('; ')}; COMMIT`,
        true,
        (done) =>
          client.queryAll(
            { sql },
            (counts) => answers.push(counts),
            (error, answer) => {
              if (error !== null && error !== undefined) return done(error, answer)
              if (!isComplete()) return done(clientError('ANSWERS_MISSING'), answer)
              const changed = answers.reduce((sum, { affectedRows }) => sum + affectedRows, 0)
              done(undefined, { result: { affectedRows: changed, insertId: 0 }, status: answer.status })
            },
          ),
      )
    } catch (error) {
      if (answers.length === 0 && refusesPackets(error)) {
        // The server has run nothing.
        use.isRefused = true
        return undefined
      }
      if (hasCode(error, 'ANSWERS_MISSING')) use.isRefused = true
      // The first statement of another session fails. If a later one does, the earlier ones were in this session or in a third one.
      if (isOtherSession(error)) return failed(sessionError(error.reason, answers.length > 1))
      if (isUsable()) await rollBack()
      return failed(error)
    }
    const mismatch = mismatchOf(answers, queries.length)
    if (mismatch !== undefined) {
      destroy()
      return failed(sessionError(mismatch, true))
    }
    return {
      results: answers.slice(1, -1).map(({ affectedRows, insertId }) => ({
        rows: [],
        numAffectedRows: BigInt(affectedRows),
        insertId: BigInt(insertId),
      })),
    }
  }
}

/** Tells whether the text would exceed the limit, without writing it. Bytes are written as twice as many digits. */
function mayBeTooLong(queries: readonly HintedQuery[], maxPacketBytes: number): boolean {
  let bytes = PACKET_OVERHEAD_BYTES
  for (const { sql, parameters } of queries) bytes += sql.length + 2 * bytesOf(parameters)
  return bytes >= maxPacketBytes
}
