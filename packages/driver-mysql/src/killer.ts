import type { Health } from './breaker.ts'
import { connectClient } from './mysql2.ts'
import {
  identityOf,
  identityStatement,
  isEarlierSession,
  uptimeStatement,
  type SessionIdentity,
} from './session-settings.ts'
import type { ConnectionTarget } from './target.ts'
import { withDeadline } from './with-deadline.ts'

export interface KillerOptions {
  readonly target: ConnectionTarget
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

export function createKiller({ target, connectTimeoutMs, health }: KillerOptions): Killer {
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
    const began = performance.now()
    const left = (): number => Math.max(1, began + connectTimeoutMs - performance.now())
    const client = connectClient(target)
    try {
      await withDeadline<void>(left(), (done) => client.connected((error) => done(error, undefined)))
      const ask = (sql: string): Promise<unknown> =>
        withDeadline(left(), (done) => client.query({ sql }, done))
      const mine = identityOf(await ask(identityStatement()), await ask(uptimeStatement))
      health.answered()
      for (const session of sessions) {
        if (!isEarlierSession(session, mine)) continue
        // It may be gone already.
        await withDeadline(left(), (done) =>
          client.query({ sql: `KILL ${session.thread}` }, () => done(null, undefined)),
        )
      }
    } catch {
      // The server cannot be reached; neither could it answer the calls that were given up.
      health.failed(began)
    } finally {
      client.destroy()
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
