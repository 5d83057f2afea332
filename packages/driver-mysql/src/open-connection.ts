import { LooseleafError, isLooseleafError } from '@looseleaf/core'
import type { Health } from './breaker.ts'
import { createConnection, type Connection } from './connection.ts'
import { mysqlFault, saysDown } from './errors.ts'
import type { Killer } from './killer.ts'
import { connectClient, type ClientConnection } from './mysql2.ts'
import {
  checkSession,
  identityOf,
  pinStatements,
  readBackStatement,
  uptimeStatement,
  type SessionOptions,
} from './session-settings.ts'
import type { ConnectionTarget } from './target.ts'
import { withDeadline } from './with-deadline.ts'

export interface OpenOptions {
  readonly target: ConnectionTarget
  readonly session: SessionOptions
  /** Milliseconds for everything until the connection can be used. */
  readonly connectTimeoutMs: number
  readonly health: Health
  readonly killer: Killer
}

/** Connects and pins the session's settings; a connection that does not keep them is not given away. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  const { target, session, connectTimeoutMs, health, killer } = options
  const began = performance.now()
  const left = (): number => Math.max(1, began + connectTimeoutMs - performance.now())
  let client: ClientConnection | undefined
  try {
    const opened = (client = connectClient(target))
    const ask = (sql: string): Promise<unknown> => withDeadline(left(), (done) => opened.query({ sql }, done))
    await withDeadline<void>(left(), (done) => opened.connected((error) => done(error, undefined)))
    for (const sql of pinStatements(session)) await ask(sql)
    const settings = await ask(readBackStatement(session))
    const { maxPacketBytes } = checkSession(settings, session)
    const identity = identityOf(settings, await ask(uptimeStatement))
    health.answered()
    return createConnection({ client, maxPacketBytes, health, kill: () => killer.kill(identity) })
  } catch (error) {
    client?.destroy()
    if (isLooseleafError(error)) {
      health.answered()
      throw error
    }
    if (isSilence(error) && client?.isHeard === false) health.silent(began)
    else if (isSilence(error) || saysDown(error)) health.failed(began)
    else health.answered()
    throw openingError(target.name, connectTimeoutMs, error)
  }
}

function isSilence(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'CALL_DEADLINE'
}

function openingError(name: string, connectTimeoutMs: number, error: unknown): LooseleafError {
  const { kind, message, ...rest } = mysqlFault(error, false)
  if (isSilence(error)) {
    return new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${name}: no connection could be opened within ${connectTimeoutMs} ms.`,
      { shard: name, ...rest },
    )
  }
  const code =
    kind === 'duplicate' || kind === 'no-table' || kind === 'null-refused' ? 'STATEMENT_FAILED' : kind
  return new LooseleafError(code, `${name}: ${message}`, { shard: name, ...rest })
}
