import { abortedError } from '@looseleaf/core'
import type { HintedQuery } from '@looseleaf/driver-kysely'
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { Health } from './breaker.ts'
import { clientError, endsConnection, saysDown } from './errors.ts'
import { splitStatement, writeLiterals } from './literals.ts'
import type { ClientConnection, ClientResult } from './mysql2.ts'
import { withDeadline } from './with-deadline.ts'

/**
 * Statements with more bytes of parameters than this are prepared, and their parameters sent as they are: as text they
 * would be twice as long, and a body of 9 MiB would not pass a limit of 16 MiB.
 */
const PREPARE_ABOVE_BYTES = 64 * 1024

/** What a statement adds to its parameters at the most, and what each of them adds. */
const STATEMENT_OVERHEAD_BYTES = 1024
const PARAMETER_OVERHEAD_BYTES = 16

export interface ConnectionOptions {
  readonly client: ClientConnection
  /** The server would close the connection on a longer statement, and leave it unknown what has come of it. */
  readonly maxPacketBytes: number
  readonly health: Health
  /** Ends the connection on the server's side, by way of another one. Returns at once. */
  readonly kill: () => void
}

/** One connection to a server, used by one call at a time, with a deadline on whatever it is asked. */
export interface Connection extends DatabaseConnection {
  /** False once it must not be used again: it was ended, lost, or its state is not known. */
  readonly usable: boolean
  /** A call begins: the statements that follow have until then all together, by `performance.now()`. */
  begin(deadline: number): void
  /** Asks the server for a sign of life within so many milliseconds. A connection without one is not usable. */
  ping(milliseconds: number): Promise<void>
  /** Says goodbye; resolves when the server has closed it, or did not within so many milliseconds. */
  end(milliseconds: number): Promise<void>
  destroy(): void
}

/** The parts of a statement, by the node that all its uses share. */
const partsOf = new WeakMap<object, readonly string[]>()

export function createConnection({ client, maxPacketBytes, health, kill }: ConnectionOptions): Connection {
  let usable = true
  let deadline = 0
  client.onLost(() => {
    usable = false
  })

  function destroy(): void {
    usable = false
    client.destroy()
  }

  async function ask<T>(
    milliseconds: number,
    begin: (done: (error: unknown, result: T) => void) => void,
  ): Promise<T> {
    if (!usable) throw clientError('CONNECTION_GONE')
    if (milliseconds <= 0) throw clientError('CALL_TOO_LATE')
    const began = performance.now()
    try {
      const result = await withDeadline(milliseconds, begin)
      health.answered()
      return result
    } catch (error) {
      if (endsConnection(error)) destroy()
      // A deadline says nothing of the server: ending the statement by way of another connection will tell.
      if ((error as { code?: unknown }).code === 'CALL_DEADLINE') kill()
      else if (saysDown(error)) health.failed(began)
      else health.answered()
      throw error
    }
  }

  async function send(query: CompiledQuery): Promise<ClientResult> {
    const parameters = query.parameters
    const left = deadline - performance.now()
    const bytes = bytesOf(parameters)
    if (bytes > PREPARE_ABOVE_BYTES) {
      const packet = bytes + parameters.length * PARAMETER_OVERHEAD_BYTES + STATEMENT_OVERHEAD_BYTES
      if (packet > maxPacketBytes || query.sql.length > maxPacketBytes) throw clientError('PACKET_TOO_LARGE')
      const values = parameters.map((value) =>
        typeof value === 'string' ? Buffer.from(value) : toBuffer(value),
      )
      return ask(left, (done) => client.execute({ sql: query.sql, values }, done))
    }
    let parts = partsOf.get(query.query)
    if (parts === undefined) partsOf.set(query.query, (parts = splitStatement(query.sql)))
    const sql = writeLiterals(parts, parameters)
    if (sql.length >= maxPacketBytes) throw clientError('PACKET_TOO_LARGE')
    return ask(left, (done) => client.query({ sql }, done))
  }

  return {
    get usable() {
      return usable
    },
    begin(until) {
      deadline = until
    },
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      const { signal } = query as Partial<HintedQuery>
      if (signal?.aborted) throw abortedError(signal)
      const result = await send(query)
      if ('affectedRows' in result) return { rows: [], numAffectedRows: BigInt(result.affectedRows) }
      // The rows are what the statement selects; their type is the business of who wrote it.
      return { rows: result as Row[] }
    },
    // eslint-disable-next-line require-yield -- nothing here reads in a stream
    async *streamQuery() {
      throw new Error('Results are not streamed.')
    },
    async ping(milliseconds) {
      await ask<void>(milliseconds, (done) => client.ping((error) => done(error, undefined)))
    },
    async end(milliseconds) {
      if (!usable) return
      usable = false
      await withDeadline<void>(milliseconds, (done) => client.end((error) => done(error, undefined))).catch(
        () => {},
      )
      client.destroy()
    },
    destroy,
  }
}

function bytesOf(parameters: readonly unknown[]): number {
  let bytes = 0
  for (const value of parameters) {
    if (value instanceof Uint8Array) bytes += value.byteLength
    else if (typeof value === 'string') bytes += value.length
  }
  return bytes
}

function toBuffer(value: unknown): unknown {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
