/** The parts of mysql2 that are used, so that one file knows the library. */
import { connect as connectSocket } from 'node:net'
import type { Duplex } from 'node:stream'
// TypedParameter is no named export that Node finds.
import mysql2, { createConnection } from 'mysql2'
import { watchStatus } from '../settings/answer-status.ts'
import { MAX_PREPARED } from './kept-statements.ts'
import type { ShardAddress } from './shard-address.ts'

/** Rows of a SELECT, or the counts of a write. */
export type ClientResult = readonly unknown[] | WriteCounts

export interface WriteCounts {
  /** Rows that were changed. */
  readonly affectedRows: number
  /** The first number given by AUTO_INCREMENT, or the last value of LAST_INSERT_ID(value); 0 without either. */
  readonly insertId: number
}

/** An answer, with the server's status after it; see `foundAgainst`. */
export interface ClientAnswer {
  readonly result: ClientResult
  readonly status: number | undefined
}

export interface ClientConnection {
  /** Calls back once, when the server has let the user in or it is clear that it will not. */
  connected(done: (error: unknown) => void): void
  query(statement: { sql: string }, done: (error: unknown, answer: ClientAnswer) => void): void
  execute(
    statement: { sql: string; values: unknown[] },
    done: (error: unknown, answer: ClientAnswer) => void,
  ): void
  end(done: (error: unknown) => void): void
  /** Closes the socket at once, whatever was written or asked; no callback comes after it. */
  destroy(): void
  /** Called when nothing can be asked any more. */
  onLost(listener: () => void): void
  /** Whether the server has said anything on it. */
  readonly isHeard: boolean
}

type LibraryResult = readonly unknown[] | (WriteCounts & { readonly serverStatus?: number })

/** What of mysql2's connection is used; its own types are wider. */
interface LibraryConnection extends Pick<ClientConnection, 'end' | 'destroy'> {
  query(statement: object, done: (error: unknown, result: LibraryResult) => void): void
  execute(statement: object, done: (error: unknown, result: LibraryResult) => void): void
  /** The socket, or what encrypts on top of it. */
  readonly stream: Duplex
  on(event: 'connect' | 'error' | 'end' | 'close', listener: (error?: unknown) => void): void
}

const KEEP_ALIVE_MS = 10_000

/**
 * A write is told by the rows that it changed, and not by those that it found as they are to be. A server must not ask
 * for files of this machine.
 */
export const protocolFlags: readonly string[] = ['-FOUND_ROWS', '-LOCAL_FILES']

/** Begins to connect with this password, without a limit of time: whoever waits has one. */
export function connectClient(address: ShardAddress, password: string): ClientConnection {
  const { host, port, socketPath } = address
  const socket = socketPath === undefined ? connectSocket(port, host) : connectSocket(socketPath)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  // Whoever waits for something has a deadline, which keeps the process running; a connection that is not used does not.
  socket.unref()
  const client = createConnection({
    // Ours, because the library would close it with a goodbye that a silent network never answers.
    stream: () => socket,
    host: certifiedName(address),
    // Not to connect with: where it is set, a new MySQL is told the password as it wants it over a socket.
    ...(socketPath === undefined ? {} : { socketPath }),
    user: address.user,
    password,
    database: address.database,
    // Some servers, such as RDS for its tokens, want the password as it is: only one that is verified gets it.
    ...(address.tls === undefined ? {} : { ssl: address.tls, enableCleartextPlugin: true }),
    charset: 'utf8mb4',
    connectTimeout: 0,
    flags: [...protocolFlags],
    // Integers beyond 2^53 come as text, others as numbers.
    supportBigNumbers: true,
    timezone: 'Z',
    // Statements come with their parameters in them: there is nothing to look for.
    queryFormat: (sql: string) => sql,
    // Each prepared statement is kept on the server for as long as the connection lives.
    maxPreparedStatements: MAX_PREPARED,
  }) as unknown as LibraryConnection
  // Without a listener, the loss of an idle connection would end the process.
  client.on('error', () => {})
  let statusAfterRows = (): number | undefined => undefined
  // From here on `stream` is what encrypts, if anything does.
  client.on('connect', () => {
    statusAfterRows = watchStatus(client.stream)
  })
  const withStatus =
    (done: (error: unknown, answer: ClientAnswer) => void) =>
    (error: unknown, result: LibraryResult): void => {
      // An error has neither.
      const status =
        result === undefined || 'affectedRows' in result ? result?.serverStatus : statusAfterRows()
      done(error, { result, status })
    }

  return {
    connected(done) {
      client.on('connect', () => done(undefined))
      client.on('error', (error) => done(error))
    },
    query: (statement, done) => client.query(statement, withStatus(done)),
    execute: (statement, done) => client.execute(statement, withStatus(done)),
    end: (done) => client.end(done),
    destroy() {
      client.destroy()
      client.stream.destroy()
      socket.destroy()
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

// Taken once: the library looks for the file of it each time.
const { BIGINT } = mysql2.TypedParameter
const MAX_SIGNED = 2n ** 63n - 1n

/** A parameter of a prepared statement that is a whole number from -2^63 to 2^64 - 1. */
export function boundInteger(value: bigint): unknown {
  return value > MAX_SIGNED ? BIGINT.unsigned(value) : BIGINT(value)
}

/**
 * The name that the server's certificate has to hold. For a plain address mysql2 would leave it open, and Node take
 * `localhost` for it; with a dot at its end it looks like a name to the one, and like the address to the other.
 */
function certifiedName({ host, socketPath, tls }: ShardAddress): string {
  if (socketPath !== undefined) return 'localhost'
  return tls === undefined ? host : `${host}.`
}
