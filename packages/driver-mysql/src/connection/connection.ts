import { abortedError, platformTime, isBytes } from '@looseleaf/core'
import { notStreamed, type HintedQuery, type StatementTeller } from '@looseleaf/driver-kysely'
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { Health } from '../bounds/breaker.ts'
import { createDeadlineTimer } from '../bounds/deadline-timer.ts'
import { withDeadline } from '../bounds/with-deadline.ts'
import {
  clientError,
  endsConnection,
  foundByRefusal,
  isOtherSession,
  refusesPrepared,
  saysDown,
  sessionError,
} from '../errors/errors.ts'
import { foundAgainst } from '../settings/answer-status.ts'
import { sessionToken, tokenCondition, tokenStatement } from '../settings/session-token.ts'
import { createKeptStatements } from './kept-statements.ts'
import { boundValues, splitStatement, writeLiterals } from './literals.ts'
import type { ClientAnswer, ClientConnection, ClientResult } from './mysql2.ts'

/**
 * Writes with more bytes of parameters than this are prepared, and their parameters sent as they are: as text they
 * would be twice as long, and a body of 9 MiB would not pass a limit of 16 MiB.
 */
const PREPARE_ABOVE_BYTES = 64 * 1024

/** What a statement adds to its parameters at the most, and what each of them adds. */
const STATEMENT_OVERHEAD_BYTES = 1024
const PARAMETER_OVERHEAD_BYTES = 16

/**
 * A connection whose session was not asked for its token for so long is asked before it is used: reads by text do not compare it,
 * and what else reads rely on may have been set otherwise.
 */
const VERIFIED_MS = 1_000

export interface ConnectionOptions {
  readonly client: ClientConnection
  /** That the session has. */
  readonly token: Buffer
  /** The server would close the connection on a longer statement, and leave it unknown what has come of it. */
  readonly maxPacketBytes: number
  readonly health: Health
  /** Ends the connection on the server's side, by way of another one. Returns at once. */
  readonly kill: () => void
  readonly statements?: StatementTeller | undefined
}

/** One connection to a server, used by one call at a time, with a deadline on whatever it is asked. */
export interface Connection extends DatabaseConnection {
  /** False once it must not be used again: it was ended, lost, or its state is not known. */
  readonly usable: boolean
  /** A call begins: the statements that follow have until then all together, by `performance.now()`. */
  begin(deadline: number): void
  /**
   * Asks the server whether the session is still the one that was set up. A connection without that answer within so many
   * milliseconds is not usable.
   */
  verify(milliseconds: number): Promise<void>
  startTransaction(): Promise<void>
  /** Resolves when the transaction has ended in its own session; what it wrote is committed then. */
  commit(): Promise<void>
  /** Says goodbye; resolves when the server has closed it, or did not within so many milliseconds. */
  end(milliseconds: number): Promise<void>
  destroy(): void
}

/** What it asks of its session by itself, as it is told to who listens: without the token. */
const VERIFICATION = `SELECT ${tokenCondition('?')}`

/** The parts of a statement, by the node that all its uses share. */
const partsOf = new WeakMap<object, readonly string[]>()

export function createConnection(options: ConnectionOptions): Connection {
  const { client, token, maxPacketBytes, health, kill, statements } = options
  let usable = true
  let deadline = 0
  let inTransaction = false
  /** Whether the call has sent something that writes. */
  let wrote = false
  let verifiedAt = platformTime.elapsed()
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

  /** What an error of a statement that began then tells of the server. */
  function learn(error: unknown, began: number): void {
    if (endsConnection(error)) destroy()
    // A deadline says nothing of the server: ending the statement by way of another connection will tell.
    if (codeOf(error) === 'CALL_DEADLINE') kill()
    else if (saysDown(error)) health.failed(began)
    else health.answered()
  }

  /** Asks, and makes sure that the answer comes from the session that is this connection's. `text`: for who listens. */
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
      learn(error, began)
      // A statement that another session has refused has done nothing, but those before it have.
      const found = foundByRefusal(error)
      throw found === undefined ? error : sessionError(found, wroteBefore)
    }
    health.answered()
    if (statements?.isListening) statements.tell(text, began, rowsOf(answer.result))
    const found = foundAgainst(answer.status, inTransaction)
    if (found === undefined) return answer.result
    destroy()
    throw sessionError(found, wrote)
  }

  async function say(sql: string): Promise<void> {
    await askSession(sql, deadline - platformTime.elapsed(), false, (done) => client.query({ sql }, done))
  }

  async function verify(milliseconds: number): Promise<void> {
    const sql = tokenStatement(token)
    await askSession(VERIFICATION, milliseconds, false, (done) => client.query({ sql }, done))
    verifiedAt = platformTime.elapsed()
  }

  function sendPrepared({ sql, parameters }: CompiledQuery, write: boolean): Promise<ClientResult> {
    const values = boundValues(parameters, token)
    return askSession(sql, deadline - platformTime.elapsed(), write, (done) =>
      client.execute({ sql, values }, done),
    )
  }

  async function send(query: CompiledQuery): Promise<ClientResult> {
    const { sql, parameters } = query
    // Kysely's own statements have no hints.
    const { write = false, keep, signal } = query as Partial<HintedQuery>
    if (signal?.aborted) throw abortedError(signal)
    if (!inTransaction && platformTime.elapsed() - verifiedAt > VERIFIED_MS) {
      await verify(deadline - platformTime.elapsed())
    }
    const bytes = bytesOf(parameters)
    // Without the token, a prepared one might run as another one of a session that is not ours.
    const isLong = write && bytes > PREPARE_ABOVE_BYTES && parameters.includes(sessionToken)
    const packet = bytes + parameters.length * PARAMETER_OVERHEAD_BYTES + STATEMENT_OVERHEAD_BYTES
    const fits = packet <= maxPacketBytes && sql.length <= maxPacketBytes
    if (isLong && !fits) throw clientError('PACKET_TOO_LARGE')
    // What is kept is not prepared while locks are held: it is one round trip more.
    const isKept = keep !== undefined && fits && mayPrepare && !inTransaction && kept.keeps(sql, keep)
    let refusal: unknown
    if (isLong || isKept) {
      try {
        return await sendPrepared(query, write)
      } catch (error) {
        // Nothing was done.
        if (!refusesPrepared(error)) throw error
        refusal = error
        mayPrepare = false
      }
    }
    let parts = partsOf.get(query.query)
    if (parts === undefined) partsOf.set(query.query, (parts = splitStatement(sql)))
    const text = writeLiterals(parts, parameters, token)
    if (text.length >= maxPacketBytes) throw refusal ?? clientError('PACKET_TOO_LARGE')
    return askSession(sql, deadline - platformTime.elapsed(), write, (done) =>
      client.query({ sql: text }, done),
    )
  }

  return {
    get usable() {
      return usable
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
      // The rows are what the statement selects; their type is the business of who wrote it.
      return { rows: result as Row[] }
    },
    streamQuery: notStreamed,
    verify,
    async startTransaction() {
      inTransaction = true
      await say('START TRANSACTION')
    },
    async commit() {
      inTransaction = false
      await say('COMMIT')
      // Another session would have answered the same, and left this transaction open in its own.
      try {
        await verify(Math.max(1, deadline - platformTime.elapsed()))
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

function bytesOf(parameters: readonly unknown[]): number {
  let bytes = 0
  for (const value of parameters) {
    if (isBytes(value)) bytes += value.byteLength
    else if (typeof value === 'string') bytes += value.length
  }
  return bytes
}
