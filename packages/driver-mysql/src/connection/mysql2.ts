/** The only file that imports mysql2. */
import { connect as connectSocket } from 'node:net'
import type { Duplex } from 'node:stream'
// Node does not find TypedParameter as a named export.
import mysql2, { createConnection } from 'mysql2'
import { watchStatus } from '../settings/answer-status.ts'
import { MAX_PREPARED } from './kept-statements.ts'
import type { ShardAddress } from './shard-address.ts'

/** Rows of a SELECT, or the counts of a write. */
export type ClientResult = readonly unknown[] | WriteCounts

export interface WriteCounts {
  /** Rows that were changed. */
  readonly affectedRows: number
  /** First number of AUTO_INCREMENT, or the last value of LAST_INSERT_ID(value); 0 without either. */
  readonly insertId: number
}

/** An answer with the server's status, see `sessionMismatch`. */
export interface ClientAnswer {
  readonly result: ClientResult
  readonly status: number | undefined
}

export interface ClientConnection {
  /** Calls back when the server has accepted the user, or with the error. */
  connected(done: (error: unknown) => void): void
  query(statement: { sql: string }, done: (error: unknown, answer: ClientAnswer) => void): void
  /**
   * Sends several statements in one text. `onAnswer` gets the counts of each that returns no rows. After an error the server runs no further
   * statement.
   */
  queryAll(
    statement: { sql: string },
    onAnswer: (counts: StatedCounts) => void,
    done: (error: unknown, answer: ClientAnswer) => void,
  ): void
  execute(
    statement: { sql: string; values: unknown[] },
    done: (error: unknown, answer: ClientAnswer) => void,
  ): void
  end(done: (error: unknown) => void): void
  /** Closes the socket at once. No callback comes after it. */
  destroy(): void
  /** Calls the listener when the connection is lost or closed, possibly several times. */
  onLost(listener: () => void): void
  /** True once the server has sent a byte. */
  readonly isHeard: boolean
  /** Id of the session in the greeting, without its higher 32 bits. That of a pooler is its own. */
  readonly greetedAs: number | undefined
}

/** The counts of a write with the status of the server after it. */
export interface StatedCounts extends WriteCounts {
  readonly serverStatus?: number | undefined
}

type LibraryResult = readonly unknown[] | StatedCounts

interface LibraryQuery {
  on(event: 'result', listener: (result: StatedCounts) => void): void
}

/** The part of mysql2's connection that this file uses. */
interface LibraryConnection extends Pick<ClientConnection, 'end' | 'destroy'> {
  query(statement: object, done: (error: unknown, result: LibraryResult) => void): LibraryQuery
  execute(statement: object, done: (error: unknown, result: LibraryResult) => void): void
  readonly threadId?: number
  /** The socket, or the TLS stream over it. */
  readonly stream: Duplex
  on(event: 'connect' | 'error' | 'end' | 'close', listener: (error?: unknown) => void): void
}

const KEEP_ALIVE_MS = 10_000

/**
 * Servers report changed rows, not matched ones, cannot read files of this host, and take several statements in one packet. With the last
 * one a value within a text could add statements, so `writeLiterals` is the only writer of texts: no value stands in them as it is.
 */
export const protocolFlags: readonly string[] = ['-FOUND_ROWS', '-LOCAL_FILES', 'MULTI_STATEMENTS']

/** Starts to connect. Without a timeout: the caller has a deadline. */
export function connectClient(address: ShardAddress, password: string): ClientConnection {
  const { host, port, socketPath } = address
  const socket = socketPath === undefined ? connectSocket(port, host) : connectSocket(socketPath)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  // The deadline timer of a call keeps the process running. An idle connection does not.
  socket.unref()
  const client = createConnection({
    // With its own socket, mysql2 would say goodbye before it closes, which a silent network never answers.
    stream: () => socket,
    host: certifiedName(address),
    // `stream` connects. This option makes mysql2 send the password in the form that recent MySQL servers expect over a socket.
    ...(socketPath === undefined ? {} : { socketPath }),
    user: address.user,
    password,
    database: address.database,
    // Some servers ask for the password in clear text, as RDS does for tokens. Only a verified server gets it.
    ...(address.tls === undefined ? {} : { ssl: address.tls, enableCleartextPlugin: true }),
    charset: 'utf8mb4',
    connectTimeout: 0,
    flags: [...protocolFlags],
    // Integers beyond 2^53 arrive as text, others as numbers.
    supportBigNumbers: true,
    timezone: 'Z',
    // Statements already contain their parameters.
    queryFormat: (sql: string) => sql,
    // The server keeps each prepared statement until the connection ends.
    maxPreparedStatements: MAX_PREPARED,
  }) as unknown as LibraryConnection
  // Without a listener, the loss of an idle connection would crash the process.
  client.on('error', () => {})
  let statusAfterRows = (): number | undefined => undefined
  // On this event `stream` is the TLS stream, if there is one.
  client.on('connect', () => {
    statusAfterRows = watchStatus(client.stream)
  })
  // The result is undefined for an error, which has no status either.
  const statusOf = (result: LibraryResult | undefined): number | undefined =>
    result === undefined || 'affectedRows' in result ? result?.serverStatus : statusAfterRows()
  const withStatus =
    (done: (error: unknown, answer: ClientAnswer) => void) =>
    (error: unknown, result: LibraryResult): void =>
      done(error, { result, status: statusOf(result) })

  return {
    connected(done) {
      client.on('connect', () => done(undefined))
      client.on('error', (error) => done(error))
    },
    query: (statement, done) => void client.query(statement, withStatus(done)),
    queryAll: (statement, onAnswer, done) =>
      void client
        .query(statement, (error, results) =>
          // mysql2 returns a list of answers, or the only answer.
          done(error, {
            result: results,
            status: statusOf(Array.isArray(results) ? results.at(-1) : results),
          }),
        )
        // mysql2 emits counts, and collects rows.
        .on('result', onAnswer),
    execute: (statement, done) => client.execute(statement, withStatus(done)),
    end: (done) => client.end(done),
    destroy() {
      client.destroy()
      client.stream.destroy()
      socket.destroy()
    },
    get greetedAs() {
      return client.threadId
    },
    get isHeard() {
      return socket.bytesRead > 0
    },
    onLost(listener) {
      for (const event of ['error', 'end', 'close'] as const) client.on(event, listener)
      socket.on('close', listener)
    },
  }
}

// Read once: each access makes mysql2 resolve a module.
const { BIGINT } = mysql2.TypedParameter
const MAX_SIGNED = 2n ** 63n - 1n

/** Returns an integer parameter of a prepared statement, from -2^63 to 2^64 - 1. */
export function boundInteger(value: bigint): unknown {
  return value > MAX_SIGNED ? BIGINT.unsigned(value) : BIGINT(value)
}

/**
 * Returns the name that the server's certificate must contain. For an IP address mysql2 passes no name, and Node would check
 * `localhost`. With a final dot mysql2 takes the address for a name and passes it, and Node checks the address.
 */
function certifiedName({ host, socketPath, tls }: ShardAddress): string {
  if (socketPath !== undefined) return 'localhost'
  return tls === undefined ? host : `${host}.`
}
