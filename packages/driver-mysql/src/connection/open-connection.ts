import { LooseleafError, isLooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { codeOf, type StatementTeller } from '@looseleaf/driver-kysely/internal'
import type { Health } from '../bounds/breaker.ts'
import { withDeadline } from '../bounds/with-deadline.ts'
import { hasCode, mysqlFault, saysDown, sessionError } from '../errors/errors.ts'
import { sessionMismatch } from '../settings/answer-status.ts'
import {
  checkSession,
  identityOf,
  pinStatements,
  readBackStatement,
  checkedUptimeStatement,
  type SessionOptions,
} from '../settings/session-settings.ts'
import { newToken } from '../settings/session-token.ts'
import { createConnection, type Connection } from './connection.ts'
import type { Killer } from './killer.ts'
import { connectClient, type ClientAnswer, type ClientConnection } from './mysql2.ts'
import type { PacketUse } from './packets.ts'
import { passwordOf } from './password-of.ts'
import type { ShardAddress } from './shard-address.ts'

export interface OpenOptions {
  readonly address: ShardAddress
  readonly session: SessionOptions
  /** Milliseconds for the password, and the same again until the connection can be used. */
  readonly connectTimeoutMs: number
  readonly health: Health
  readonly killer: Killer
  /** See `ConnectionOptions`. */
  readonly readOnlyMs: number
  readonly statements?: StatementTeller | undefined
  /** Shared by the connections of a pool. */
  readonly packets?: PacketUse | undefined
}

/** Opens a connection, pins the settings of its session and verifies them. Rejects if the session does not keep them. */
export async function openConnection(options: OpenOptions): Promise<Connection> {
  const { address, session, connectTimeoutMs, health, killer, readOnlyMs, statements, packets } = options
  const password = await passwordOf(address, connectTimeoutMs)
  // The time for the password does not count against the server.
  const began = platformTime.elapsed()
  const remainingMs = (): number => Math.max(1, began + connectTimeoutMs - platformTime.elapsed())
  let client: ClientConnection | undefined
  try {
    const opened = (client = connectClient(address, password))
    const token = newToken()
    const ask = (sql: string): Promise<ClientAnswer> =>
      withDeadline(remainingMs(), (done) => opened.query({ sql }, done))
    await withDeadline<void>(remainingMs(), (done) => opened.connected((error) => done(error, undefined)))
    for (const sql of pinStatements(session, token)) await ask(sql)
    const { result: settings } = await ask(readBackStatement(session, token))
    const pinned = checkSession(settings, session)
    const { result: uptime, status } = await ask(checkedUptimeStatement(token))
    // A pooler may hand out a session with an open transaction of another client.
    const mismatch = sessionMismatch(status, false)
    if (mismatch !== undefined) throw sessionError(mismatch, false)
    const identity = identityOf(settings, uptime)
    health.answered()
    const kill = (): void => killer.kill(identity)
    const isDirect = client.greetedAs === identity.thread >>> 0
    return createConnection({
      ...pinned,
      client,
      openedAt: began,
      token,
      isDirect,
      health,
      readOnlyMs,
      kill,
      statements,
      packets,
    })
  } catch (error) {
    client?.destroy()
    if (isLooseleafError(error)) {
      health.answered()
      throw error
    }
    const isSilence = hasCode(error, 'CALL_DEADLINE')
    if (isSilence && client?.isHeard === false) health.silent(began)
    else if (isSilence || saysDown(error)) health.failed(began)
    else health.answered()
    throw openingError(address.name, connectTimeoutMs, error)
  }
}

function openingError(name: string, connectTimeoutMs: number, error: unknown): LooseleafError {
  const { kind, message, ...rest } = mysqlFault(error, false)
  if (hasCode(error, 'CALL_DEADLINE')) {
    return new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${name}: no connection could be opened within ${connectTimeoutMs} ms.`,
      { shard: name, ...rest },
    )
  }
  return new LooseleafError(codeOf(kind), `${name}: ${message}`, { shard: name, ...rest })
}
