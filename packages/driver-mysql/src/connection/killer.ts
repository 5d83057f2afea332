import { platformTime } from '@looseleaf/core/internal'
import type { Health } from '../bounds/breaker.ts'
import { withDeadline } from '../bounds/with-deadline.ts'
import {
  identityOf,
  identityStatement,
  isEarlierSession,
  uptimeStatement,
  type SessionIdentity,
} from '../settings/session-settings.ts'
import { connectClient, type ClientAnswer, type ClientConnection } from './mysql2.ts'
import { passwordOf } from './password-of.ts'
import type { ShardAddress } from './shard-address.ts'

export interface KillerOptions {
  readonly address: ShardAddress
  /** Milliseconds for all work of one connection of the killer. */
  readonly connectTimeoutMs: number
  readonly health: Health
}

/** Ends sessions on the server with KILL, by one connection of its own at a time. */
export interface Killer {
  /** Queues a session and returns at once. The server itself ends a session that the killer cannot, after `wait_timeout`. */
  kill(session: SessionIdentity): void
  /** Resolves when no session is queued or being killed. */
  settled(): Promise<void>
}

/** Tells whether a replica confirms the commits of this server now. */
function isSemiSync(statuses: unknown): boolean {
  const rows = statuses as readonly { readonly Variable_name: unknown; readonly Value: unknown }[]
  return rows.some(
    ({ Variable_name, Value }) => /master|source/i.test(String(Variable_name)) && Value === 'ON',
  )
}

/**
 * Tells whether a session waits for a semi-synchronous replica. Such a session must not be killed:
 * 1. Its commit is in the log of this server, and no replica has it yet.
 * 2. KILL ends the wait, and does not undo the commit.
 * 3. The writer reads the commit back, and acknowledges it.
 * 4. A failover to a replica undoes an acknowledged write.
 * The session ends by itself when it cannot send its answer.
 */
function isWaitingForReplica({ thread }: SessionIdentity, processes: unknown): boolean {
  const rows = processes as readonly { readonly Id: unknown; readonly State: unknown }[]
  return rows.some(({ Id, State }) => Number(Id) === thread && /semi-sync/i.test(String(State)))
}

export function createKiller({ address, connectTimeoutMs, health }: KillerOptions): Killer {
  let queue: SessionIdentity[] = []
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    try {
      while (queue.length > 0) {
        const sessions = queue
        queue = []
        await killAll(sessions)
      }
    } finally {
      working = undefined
    }
  }

  async function killAll(sessions: readonly SessionIdentity[]): Promise<void> {
    let began = platformTime.elapsed()
    const remainingMs = (): number => Math.max(1, began + connectTimeoutMs - platformTime.elapsed())
    let client: ClientConnection | undefined
    try {
      const password = await passwordOf(address, connectTimeoutMs)
      // The time for the password does not count against the server.
      began = platformTime.elapsed()
      const opened = (client = connectClient(address, password))
      await withDeadline<void>(remainingMs(), (done) => opened.connected((error) => done(error, undefined)))
      const ask = async (sql: string): Promise<unknown> => {
        const answer = await withDeadline<ClientAnswer>(remainingMs(), (done) => opened.query({ sql }, done))
        return answer.result
      }
      const killerIdentity = identityOf(await ask(identityStatement()), await ask(uptimeStatement))
      health.answered()
      const mayAwaitReplica = isSemiSync(
        await ask("SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%\\_status'"),
      )
      for (const session of sessions) {
        if (!isEarlierSession(session, killerIdentity)) continue
        if (mayAwaitReplica && isWaitingForReplica(session, await ask('SHOW PROCESSLIST'))) continue
        // An error is fine: the session may have ended by itself.
        await withDeadline(remainingMs(), (done) =>
          opened.query({ sql: `KILL ${session.thread}` }, () => done(null, undefined)),
        )
      }
    } catch {
      // The server cannot be reached, so it could not answer the calls of these sessions either.
      if (client !== undefined) health.failed(began)
    } finally {
      client?.destroy()
    }
  }

  return {
    kill(session) {
      queue.push(session)
      working ??= work()
    },
    settled: () => working ?? Promise.resolve(),
  }
}
