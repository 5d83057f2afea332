import { LooseleafError, abortedError, platformTime } from '@looseleaf/core'
import type { Connection } from '../connection/connection.ts'

export interface PoolOptions {
  /** The shard's name, for errors. */
  readonly name: string
  /** Rejects with the error that whoever waits is to get. Always ends. */
  readonly open: () => Promise<Connection>
  /** The error of every call at this time, or undefined while calls may pass. */
  readonly refusal: () => LooseleafError | undefined
  readonly size: number
  /** Calls that may wait for a connection to come free; one more is refused with `SHARD_BUSY`. */
  readonly maxQueue: number
  /**
   * Milliseconds for a call from `acquire` to the answer of its last statement. It may wait for its connection for half
   * of them, so that the other half is left for what it wants to ask.
   */
  readonly deadlineMs: number
  /** Connections that are not used for this many milliseconds are closed. */
  readonly idleMs: number
  /** Milliseconds for goodbyes, and at the most for signs of life. */
  readonly connectTimeoutMs: number
}

/** Connections to one server. A connection is opened when it is needed, and used by one call at a time. */
export interface Pool {
  /** Rejects with `SHARD_BUSY`, `ABORTED`, `CLOSED`, or with what opening a connection has met. */
  acquire(signal?: AbortSignal): Promise<Connection>
  /** Gives a connection back; one that is not usable any more is thrown away. */
  release(connection: Connection): void
  /** Ends the wait of every call that has no connection yet. */
  refuseWaiting(error: LooseleafError): void
  close(): Promise<void>
  /** Connections that are open or being opened. */
  readonly connections: number
  /** Those that nobody uses. */
  readonly idle: number
  /** Calls that wait for one. */
  readonly waiting: number
}

interface Waiting {
  resolve(connection: Connection): void
  reject(error: unknown): void
}

interface Idle {
  readonly connection: Connection
  readonly since: number
}

/** A connection that has been idle for longer is asked for a sign of life before it is given to somebody. */
const TRUSTED_IDLE_MS = 5_000

/** How long that sign may take. */
const SIGN_OF_LIFE_MS = 1_000

export function createPool(options: PoolOptions): Pool {
  const { name, size, deadlineMs } = options
  const acquireMs = Math.ceil(deadlineMs / 2)
  const idle: Idle[] = []
  const queue = new Set<Waiting>()
  let connections = 0
  let opening = 0
  let reviving = 0
  let closed = false

  const sweeper = platformTime.setInterval(closeIdle, Math.max(1_000, options.idleMs / 4))
  sweeper.unref()

  const fail = (code: 'SHARD_BUSY' | 'SHARD_UNAVAILABLE' | 'CLOSED', what: string): LooseleafError =>
    new LooseleafError(code, `${name}: ${what}; the call was not sent.`, { shard: name })

  function closeIdle(): void {
    const oldest = platformTime.elapsed() - options.idleMs
    while (idle[0] !== undefined && idle[0].since < oldest) {
      const { connection } = idle.shift() as Idle
      connections--
      void connection.end(options.connectTimeoutMs)
    }
  }

  /** The one that was used last, if it needs no sign of life. */
  function takeTrusted(): Connection | undefined {
    for (let last = idle.at(-1); last !== undefined; last = idle.at(-1)) {
      if (last.connection.usable && platformTime.elapsed() - last.since > TRUSTED_IDLE_MS) return undefined
      idle.pop()
      if (last.connection.usable) return last.connection
      connections--
    }
    return undefined
  }

  function wait(signal: AbortSignal | undefined): Promise<Connection> {
    const within = reviving + opening + idle.length + size - connections
    if (queue.size >= options.maxQueue + within) {
      return Promise.reject(
        fail('SHARD_BUSY', `${options.maxQueue} calls wait for a connection to come free already`),
      )
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiting.reject(abortedError(signal))
      const leave = (): void => {
        queue.delete(waiting)
        platformTime.clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiting: Waiting = {
        resolve(connection) {
          leave()
          resolve(connection)
        },
        reject(error) {
          leave()
          reject(error as Error)
        },
      }
      const timer = platformTime.setTimeout(() => {
        const none = connections === opening
        waiting.reject(
          none
            ? fail('SHARD_UNAVAILABLE', `no connection could be opened within ${acquireMs} ms`)
            : fail('SHARD_BUSY', `no connection came free within ${acquireMs} ms`),
        )
      }, acquireMs)
      signal?.addEventListener('abort', onAbort, { once: true })
      queue.add(waiting)
      supply()
    })
  }

  /** Has as many connections on their way as there are calls that wait for one. */
  function supply(): void {
    while (!closed && opening + reviving < queue.size) {
      const trusted = takeTrusted()
      const last = trusted === undefined ? idle.pop() : undefined
      if (trusted !== undefined) give(trusted)
      else if (last !== undefined) void revive(last.connection)
      else if (connections < size) void open()
      else return
    }
  }

  async function open(): Promise<void> {
    connections++
    opening++
    try {
      const connection = await options.open()
      opening--
      give(connection)
    } catch (error) {
      opening--
      connections--
      const [first] = queue
      // With no connection left, nobody would ever give one to those who wait.
      if (connections === 0) rejectAll(error)
      else first?.reject(error)
      supply()
    }
  }

  async function revive(connection: Connection): Promise<void> {
    reviving++
    try {
      await connection.verify(Math.min(SIGN_OF_LIFE_MS, options.connectTimeoutMs))
    } catch {
      connection.destroy()
      // The others were used even longer ago, and each would make somebody wait.
      for (const older of idle.splice(0)) {
        connections--
        older.connection.destroy()
      }
    }
    reviving--
    release(connection)
  }

  function give(connection: Connection): void {
    const [first] = queue
    if (first !== undefined) first.resolve(connection)
    else if (closed) void connection.end(options.connectTimeoutMs)
    else idle.push({ connection, since: platformTime.elapsed() })
  }

  function release(connection: Connection): void {
    if (connection.usable) return give(connection)
    connections--
    supply()
  }

  function rejectAll(error: unknown): void {
    for (const waiting of queue) waiting.reject(error)
  }

  return {
    get connections() {
      return connections
    },
    get idle() {
      return idle.length
    },
    get waiting() {
      return queue.size
    },
    async acquire(signal) {
      if (closed) throw fail('CLOSED', 'the connections are closed')
      const refusal = options.refusal()
      if (refusal !== undefined) throw refusal
      if (signal?.aborted) throw abortedError(signal)
      const began = platformTime.elapsed()
      const connection = takeTrusted() ?? (await wait(signal))
      connection.begin(began + deadlineMs)
      return connection
    },
    release,
    refuseWaiting: rejectAll,
    async close() {
      closed = true
      platformTime.clearInterval(sweeper)
      rejectAll(fail('CLOSED', 'the connections are closed'))
      await Promise.all(
        idle.splice(0).map(({ connection }) => {
          connections--
          return connection.end(options.connectTimeoutMs)
        }),
      )
    },
  }
}
