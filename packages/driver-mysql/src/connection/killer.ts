import { platformTime } from '@looseleaf/core'
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
  /** Milliseconds for everything that one connection of the killer does. */
  readonly connectTimeoutMs: number
  readonly health: Health
}

/** Ends connections on the server's side, by way of one of its own at a time, however many there are to end. */
export interface Killer {
  /** Returns at once. What cannot be ended is left to the server, which gives up silent connections by itself. */
  kill(session: SessionIdentity): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

/** Whether this server has its commits confirmed by a replica now. */
function isSemiSync(statuses: unknown): boolean {
  const rows = statuses as readonly { readonly Variable_name: unknown; readonly Value: unknown }[]
  return rows.some(
    ({ Variable_name, Value }) => /master|source/i.test(String(Variable_name)) && Value === 'ON',
  )
}

/**
 * A commit that waits for a semi-synchronous replica is spared: KILL would not undo it but end the waiting, and what no
 * replica has would be read back and acknowledged. Its thread ends by itself when it finds nobody to answer.
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
    const left = (): number => Math.max(1, began + connectTimeoutMs - platformTime.elapsed())
    let client: ClientConnection | undefined
    try {
      const password = await passwordOf(address, connectTimeoutMs)
      // The time that the password took is not the server's.
      began = platformTime.elapsed()
      const opened = (client = connectClient(address, password))
      await withDeadline<void>(left(), (done) => opened.connected((error) => done(error, undefined)))
      const ask = async (sql: string): Promise<unknown> => {
        const answer = await withDeadline<ClientAnswer>(left(), (done) => opened.query({ sql }, done))
        return answer.result
      }
      const mine = identityOf(await ask(identityStatement()), await ask(uptimeStatement))
      health.answered()
      const mayWait = isSemiSync(await ask("SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%\\_status'"))
      for (const session of sessions) {
        if (!isEarlierSession(session, mine)) continue
        if (mayWait && isWaitingForReplica(session, await ask('SHOW PROCESSLIST'))) continue
        // It may be gone already.
        await withDeadline(left(), (done) =>
          opened.query({ sql: `KILL ${session.thread}` }, () => done(null, undefined)),
        )
      }
    } catch {
      // The server cannot be reached; neither could it answer the calls that were given up.
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
