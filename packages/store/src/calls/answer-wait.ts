import { LooseleafError, isLooseleafError, type Shard } from '@looseleaf/core'
import { isOutage, platformTime } from '@looseleaf/core/internal'

/** Bounds the waits for a server that may have stopped to answer. All calls of a process share what it knows of the server. */
export interface AnswerWait {
  /**
   * Calls `ask`, and settles as it does. Rejects with `SHARD_UNAVAILABLE` when the server turns out to be silent, and then without calling
   * `ask`, until the server answers again. An answer that comes later is dropped. A statement may take any time while the server answers
   * others.
   */
  bounded<T>(ask: () => Promise<T>): Promise<T>
}

type Server = Pick<Shard, 'name' | 'now' | 'connections'>

/** Milliseconds without any answer after which the server is asked for a sign of life. A statement alone may take longer. */
const SILENCE_MS = 150
/** Milliseconds within which the sign of life has to come. */
const SIGN_MS = 250
/** Milliseconds between two requests to a silent server. */
const RETRY_MS = 500
const TICK_MS = 50

/** Makes the wait for one server. `detached` runs the requests for a sign of life, which belong to no call. */
export function createAnswerWait(server: Server, detached: <T>(work: () => T) => T): AnswerWait {
  // Without a pool the database is in this process, such as SQLite. It has no server that could be silent: a read waits for writes and
  // locks, or because the process is busy.
  if (server.connections === undefined) return { bounded: (ask) => ask() }
  /** The reject functions of the calls that wait. */
  const waiting = new Set<(error: unknown) => void>()
  /** Moment since which at least one call has been waiting. */
  let since = -Infinity
  let heardAt = -Infinity
  let silence: { readonly error: LooseleafError; readonly since: number } | undefined
  let askedAt = -Infinity
  let isAsking = false
  let timer: NodeJS.Timeout | undefined

  /** Answers to calls that wait without a bound count too. */
  const lastAnswer = (): number => Math.max(heardAt, server.connections?.()?.lastAnswer ?? -Infinity)

  function heard(): void {
    heardAt = platformTime.elapsed()
    silence = undefined
  }

  function giveUp(): void {
    if (silence !== undefined || waiting.size === 0) return
    const error = new LooseleafError(
      'SHARD_UNAVAILABLE',
      `${server.name}: the server has not answered for ${SILENCE_MS + SIGN_MS} ms; reads that skip silent shards do not wait for it until it answers again.`,
      { shard: server.name },
    )
    silence = { error, since: platformTime.elapsed() }
    for (const reject of waiting) reject(error)
    waiting.clear()
  }

  function askForSign(): void {
    isAsking = true
    askedAt = platformTime.elapsed()
    void detached(() => server.now())
      .then(heard, (error: unknown) => {
        // A rejection by the server is a sign of life. A pool without a free connection tells nothing.
        if (!isOutage(error)) heard()
        else if (isLooseleafError(error, 'SHARD_UNAVAILABLE')) giveUp()
      })
      .finally(() => (isAsking = false))
  }

  function judge(): void {
    // The request may have been sent for earlier calls. After it, the server may have answered others, and then have stopped.
    const isSilent = platformTime.elapsed() - Math.max(since, lastAnswer()) >= SILENCE_MS + SIGN_MS
    if (isSilent || lastAnswer() < askedAt) giveUp()
  }

  function tick(): void {
    const now = platformTime.elapsed()
    if (silence !== undefined) {
      if (lastAnswer() > silence.since) heard()
      else if (!isAsking && now - askedAt >= RETRY_MS) askForSign()
    } else if (waiting.size === 0) stop()
    else if (now - Math.max(since, lastAnswer()) >= SILENCE_MS) {
      if (!isAsking) askForSign()
      // After a pause of this process, answers may wait in the socket: `setImmediate` lets them come first.
      else if (now - askedAt >= SIGN_MS) platformTime.setImmediate(judge)
    }
  }

  function stop(): void {
    platformTime.clearInterval(timer)
    timer = undefined
  }

  return {
    bounded<T>(ask: () => Promise<T>) {
      if (silence !== undefined) return Promise.reject(silence.error)
      if (waiting.size === 0) {
        since = platformTime.elapsed()
        // The statements of waiting calls keep the process running, so the timer need not. It ends at a tick without waiting calls.
        timer ??= platformTime.setInterval(tick, TICK_MS).unref()
      }
      return new Promise<T>((resolve, reject) => {
        const answer = ask()
        waiting.add(reject)
        const answered = (value: T): void => {
          waiting.delete(reject)
          heard()
          resolve(value)
        }
        const failed = (error: unknown): void => {
          waiting.delete(reject)
          if (!isOutage(error)) heard()
          reject(error as Error)
        }
        answer.then(answered, failed)
      })
    },
  }
}
