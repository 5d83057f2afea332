import { abortedError, platformTime } from '@looseleaf/core/internal'
import {
  notStreamed,
  type HintedQuery,
  type PacketConnection,
  type StatementTeller,
} from '@looseleaf/driver-kysely/internal'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { Health } from '../bounds/breaker.ts'
import { createDeadlineTimer } from '../bounds/deadline-timer.ts'
import { withDeadline } from '../bounds/with-deadline.ts'
import {
  clientError,
  endsConnection,
  hasCode,
  otherSessionReason,
  isOtherSession,
  refusesPrepared,
  saysDown,
  saysOutdated,
  sessionError,
} from '../errors/errors.ts'
import { sessionMismatch } from '../settings/answer-status.ts'
import { snapshotStatements, type PinnedSession } from '../settings/session-settings.ts'
import { isReadOnly, literal, sessionToken, verification } from '../settings/session-token.ts'
import { createKeptStatements } from './kept-statements.ts'
import { boundValues, bytesOf, textOf } from './literals.ts'
import type { ClientAnswer, ClientConnection, ClientResult } from './mysql2.ts'
import { createPackets, type PacketUse } from './packets.ts'

/**
 * Size of the parameters above which a write is prepared, in bytes. As hexadecimal text the parameters are twice as long, and a body
 * of 9 MiB would exceed a packet limit of 16 MiB.
 */
const PREPARE_ABOVE_BYTES = 64 * 1024

/** Upper bounds of the bytes that a statement and each parameter add to a packet. */
const STATEMENT_OVERHEAD_BYTES = 1024
const PARAMETER_OVERHEAD_BYTES = 16

/**
 * Age of the last token check above which a connection checks again before a statement, in milliseconds. Reads that are sent as text do
 * not compare the token, and rely on the settings of the session.
 */
const VERIFIED_MS = 1_000

export interface ConnectionOptions extends PinnedSession {
  readonly client: ClientConnection
  readonly openedAt: number
  readonly token: Buffer
  /** True if the server itself has greeted this connection, so that every statement reaches its session. */
  readonly isDirect: boolean
  readonly health: Health
  /** Age in milliseconds from which on a check that finds the server read-only makes the connection outdated. */
  readonly readOnlyMs: number
  /** Ends the session on the server, through another connection. Returns at once. */
  readonly kill: () => void
  readonly statements?: StatementTeller | undefined
  /** Shared by the connections of a pool. Default: of this connection alone. */
  readonly packets?: PacketUse | undefined
}

/** A connection to a server for one call at a time. Every statement has a deadline. */
export interface Connection extends PacketConnection {
  /** False once the connection was ended or lost, or its state is unknown. */
  readonly usable: boolean
  /** Instant before it was opened, by `performance.now()`. */
  readonly openedAt: number
  /** True once an error or a check told that its address may lead to another server by now. */
  readonly mayBeOutdated: boolean
  /** Begins a call. All of its statements together have this deadline, by `performance.now()`. */
  begin(deadline: number): void
  /** Checks the token of the session. If that fails or takes longer than this, the connection becomes unusable and the call rejects. */
  verify(milliseconds: number): Promise<void>
  startTransaction(): Promise<void>
  /** Begins a transaction whose statements all read one snapshot, in the session of this connection. */
  startSnapshot(): Promise<void>
  /** Ends such a transaction. */
  endSnapshot(): Promise<void>
  /** Resolves when the transaction is committed, in the session of this connection. */
  commit(): Promise<void>
  /** Closes the connection properly. Resolves when the server has closed it, or after this many milliseconds. */
  end(milliseconds: number): Promise<void>
  destroy(): void
}

/** Text of the check for listeners, without the token. */
const VERIFICATION = verification('?')

/** Text of the statement before a snapshot for listeners, without the token. */
const SNAPSHOT_LEVEL = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ'

export function createConnection(options: ConnectionOptions): Connection {
  const { client, openedAt, token, maxPacketBytes, isolationName, health, kill, statements } = options
  let usable = true
  let deadline = 0
  let inTransaction = false
  /** True if the call has sent a write. */
  let wrote = false
  let verifiedAt = platformTime.elapsed()
  let mayBeOutdated = false
  const kept = createKeptStatements()
  let mayPrepare = true
  const timer = createDeadlineTimer()
  client.onLost(() => {
    usable = false
  })

  function destroy(): void {
    usable = false
    timer.stop()
    client.destroy()
  }

  /** Reports an error of a statement to the breaker, and closes the connection if it cannot be used any more. */
  function reportFailure(error: unknown, began: number): void {
    if (endsConnection(error)) destroy()
    if (saysOutdated(error)) mayBeOutdated = true
    // A missed deadline proves nothing about the server. The connection that kills the session reports its own outcome.
    if (hasCode(error, 'CALL_DEADLINE')) kill()
    else if (saysDown(error)) health.failed(began)
    else health.answered()
  }

  /** Sends a statement, and checks that its answer comes from the session of this connection. `text` is for listeners. */
  async function askSession(
    text: string,
    milliseconds: number,
    writes: boolean,
    begin: (done: (error: unknown, answer: ClientAnswer) => void) => void,
  ): Promise<ClientResult> {
    const wroteBefore = wrote
    wrote ||= writes
    if (!usable) throw clientError('CONNECTION_GONE')
    if (milliseconds <= 0) throw clientError('CALL_TOO_LATE')
    const began = platformTime.elapsed()
    let answer: ClientAnswer
    try {
      answer = await timer.wait(milliseconds, begin)
    } catch (error) {
      if (statements?.isListening) statements.tell(text, began, 0, codeOf(error))
      reportFailure(error, began)
      // The other session has rejected this statement, so only earlier ones can have written.
      const reason = otherSessionReason(error)
      throw reason === undefined ? error : sessionError(reason, wroteBefore)
    }
    health.answered()
    if (statements?.isListening) statements.tell(text, began, rowsOf(answer.result))
    const mismatch = sessionMismatch(answer.status, inTransaction)
    if (mismatch === undefined) return answer.result
    destroy()
    throw sessionError(mismatch, wrote)
  }

  const remainingMs = (): number => deadline - platformTime.elapsed()

  /** Sends a statement of the connection itself. Listeners get the description. */
  async function control(sql: string, description = sql): Promise<void> {
    await askSession(description, remainingMs(), false, (done) => client.query({ sql }, done))
  }

  async function verify(milliseconds: number): Promise<void> {
    const sql = verification(literal(token))
    const answer = await askSession(VERIFICATION, milliseconds, false, (done) => client.query({ sql }, done))
    verifiedAt = platformTime.elapsed()
    if (isReadOnly(answer) && verifiedAt - openedAt >= options.readOnlyMs) mayBeOutdated = true
  }

  function sendPrepared({ sql, parameters }: CompiledQuery, write: boolean): Promise<ClientResult> {
    const values = boundValues(parameters, token)
    return askSession(sql, remainingMs(), write, (done) => client.execute({ sql, values }, done))
  }

  /** Sends a statement as text. Throws `refusal` if the text is too long: the server refused to prepare it. */
  function sendText(query: CompiledQuery, write: boolean, refusal?: unknown): Promise<ClientResult> {
    const text = textOf(query, token)
    if (text.length >= maxPacketBytes) throw refusal ?? clientError('PACKET_TOO_LARGE')
    return askSession(query.sql, remainingMs(), write, (done) => client.query({ sql: text }, done))
  }

  /** Chooses whether to send a statement prepared. Throws for a long write that exceeds the packet limit. */
  function choosesPrepared(
    { sql, parameters }: CompiledQuery,
    write: boolean,
    keep: HintedQuery['keep'],
  ): boolean {
    const bytes = bytesOf(parameters)
    // A prepared statement needs the token: in another session its number may belong to another statement.
    const isLong = write && bytes > PREPARE_ABOVE_BYTES && parameters.includes(sessionToken)
    const packet = bytes + parameters.length * PARAMETER_OVERHEAD_BYTES + STATEMENT_OVERHEAD_BYTES
    const fits = packet <= maxPacketBytes && sql.length <= maxPacketBytes
    if (isLong && !fits) throw clientError('PACKET_TOO_LARGE')
    // Preparing is one more round trip, so it must not happen while a transaction holds locks.
    const isKept = keep !== undefined && fits && mayPrepare && !inTransaction && kept.keeps(sql, keep)
    return isLong || isKept
  }

  /** Call before the first statement of a call. */
  async function verifyNowAndThen(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw abortedError(signal)
    if (!inTransaction && platformTime.elapsed() - verifiedAt > VERIFIED_MS) {
      await verify(remainingMs())
    }
  }

  async function send(query: CompiledQuery): Promise<ClientResult> {
    // Kysely's own statements have no hints.
    const { write = false, keep, signal } = query as Partial<HintedQuery>
    await verifyNowAndThen(signal)
    if (!choosesPrepared(query, write, keep)) return sendText(query, write)
    try {
      return await sendPrepared(query, write)
    } catch (error) {
      if (!refusesPrepared(error)) throw error
      // The server has done nothing.
      mayPrepare = false
      return sendText(query, write, error)
    }
  }

  const sendPacket = createPackets({
    client,
    token,
    maxPacketBytes,
    use: options.packets ?? { isRefused: false },
    isDirect: options.isDirect,
    ask: (description, writes, begin) =>
      askSession(statements?.isListening ? description() : '', remainingMs(), writes, begin),
    isUsable: () => usable,
    destroy,
  })

  return {
    get usable() {
      return usable
    },
    openedAt,
    get mayBeOutdated() {
      return mayBeOutdated
    },
    begin(until) {
      deadline = until
      wrote = false
    },
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const result = await send(query)
      if ('affectedRows' in result) {
        const { affectedRows, insertId } = result
        return { rows: [], numAffectedRows: BigInt(affectedRows), insertId: BigInt(insertId) }
      }
      // The type of the rows depends on the statement, so its caller chooses it.
      return { rows: result as Row[] }
    },
    async executePacket(queries) {
      await verifyNowAndThen(queries[0]?.signal)
      return sendPacket(queries)
    },
    streamQuery: notStreamed,
    verify,
    async startTransaction() {
      inTransaction = true
      await control('START TRANSACTION')
    },
    async startSnapshot() {
      const [level, start] = snapshotStatements(isolationName, token)
      await control(level, SNAPSHOT_LEVEL)
      inTransaction = true
      await control(start)
      // START TRANSACTION compares no token. A pooler that has sent it to another session keeps the transaction there, so one check is enough.
      await verify(Math.max(1, remainingMs()))
    },
    async endSnapshot() {
      inTransaction = false
      await control('COMMIT')
    },
    async commit() {
      inTransaction = false
      await control('COMMIT')
      // A COMMIT compares no token, so the check after it proves which session has committed. Without the check:
      // 1. A pooler sends the statements of the transaction to session A, and the COMMIT to session B.
      // 2. B has no transaction. It answers OK, with the status of a session after a commit.
      // 3. The call is acknowledged, while A holds its writes, and undoes them when its connection ends.
      // The check fails in B by the token, and in A by the status, since A's transaction is still open.
      try {
        await verify(Math.max(1, remainingMs()))
      } catch (error) {
        throw isOtherSession(error) ? error : clientError('COMMIT_UNPROVEN')
      }
    },
    async end(milliseconds) {
      if (!usable) return
      usable = false
      timer.stop()
      await withDeadline<void>(milliseconds, (done) => client.end((error) => done(error, undefined))).catch(
        () => {},
      )
      client.destroy()
    },
    destroy,
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? 'unknown')
}

function rowsOf(result: ClientResult): number {
  return 'affectedRows' in result ? result.affectedRows : result.length
}
