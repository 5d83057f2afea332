import { isLooseleafError, LooseleafError } from '@looseleaf/core'
import { abortedError, platformTime } from '@looseleaf/core/internal'
import type { Connection } from '../connection/connection.ts'

export interface PoolOptions {
  readonly name: string
  /** Opens a connection. A waiting call gets its error. Always settles. */
  readonly open: () => Promise<Connection>
  /** Returns the error of every call while the breaker is open; undefined while it is closed. */
  readonly refusal: () => LooseleafError | undefined
  readonly size: number
  /** Largest number of calls that wait for a connection. A further one rejects with `SHARD_BUSY`. */
  readonly maxQueue: number
  /**
   * Deadline of a call, from `acquire` to the answer of its last statement, in milliseconds. The wait for a connection may take half
   * of it, so that the statements have the other half.
   */
  readonly deadlineMs: number
  /** Milliseconds after which an unused connection is closed. */
  readonly idleMs: number
  /** Milliseconds for closing a connection, and the upper bound for a sign of life. */
  readonly connectTimeoutMs: number
  /** Shared by the pools of a server. */
  readonly outdated: Outdated
}

export interface Outdated {
  /** Connections that were opened before this instant, by `performance.now()`, are closed instead of used. */
  before: number
}

/** Connections to one server. A connection is opened on demand, and used by one call at a time. */
export interface CallPool {
  /** Resolves with a connection. Rejects with `SHARD_BUSY`, `ABORTED`, `CLOSED`, or the error of opening a connection. */
  acquire(signal?: AbortSignal): Promise<Connection>
  /** Returns a connection to the pool, which drops it if it is not usable. */
  release(connection: Connection): void
  close(): Promise<void>
}

export interface Pool extends CallPool {
  /** Rejects every call that waits for a connection. */
  rejectWaiting(error: unknown): void
  /** Connections that are open or opening. */
  readonly connections: number
  /** Open connections that are not in use. */
  readonly idle: number
  readonly waiting: number
}

interface WaitingCall {
  resolve(connection: Connection): void
  reject(error: unknown): void
}

interface Idle {
  readonly connection: Connection
  readonly since: number
}

/** Idle time after which a connection is verified before its next use. */
const TRUSTED_IDLE_MS = 5_000

const VERIFY_MS = 1_000

/** Milliseconds without a request for a connection after the server allowed no further one. */
const LIMITED_MS = 1_000

/** Milliseconds between two closings of all connections, for a server that goes on to refuse. */
const OUTDATED_EVERY_MS = 2_000

export function createPool(options: PoolOptions): Pool {
  const { name, size, deadlineMs, outdated } = options
  const acquireMs = Math.ceil(deadlineMs / 2)
  const idle: Idle[] = []
  const queue = new Set<WaitingCall>()
  let connections = 0
  let opening = 0
  /** Instant at which a connection was closed. */
  let droppedAt = -Infinity
  let verifying = 0
  let closed = false
  /** Message of the server that allowed no further connection, until another attempt to open one ends. */
  let limit = ''
  /** Ends the time without requests for a connection. */
  let limited: ReturnType<typeof platformTime.setTimeout> | undefined
  /** Instant before which no idle connection was opened. */
  let idleSince = outdated.before

  const sweeper = platformTime.setInterval(closeIdle, Math.max(1_000, options.idleMs / 4))
  sweeper.unref()

  function fail(
    code: 'SHARD_BUSY' | 'SHARD_UNAVAILABLE' | 'CLOSED',
    reason: string,
    detail = '',
  ): LooseleafError {
    return new LooseleafError(code, `${name}: ${reason}; the call was not sent. ${detail}`.trimEnd(), {
      shard: name,
    })
  }

  function closeIdle(): void {
    closeOutdated()
    const oldest = platformTime.elapsed() - options.idleMs
    while (idle[0] !== undefined && idle[0].since < oldest) {
      const { connection } = idle.shift() as Idle
      drop(connection)
    }
  }

  /** Makes all connections outdated: a failover may have led the address to another server, while the old one keeps them open. */
  function leaveServer(): void {
    const now = platformTime.elapsed()
    if (now - outdated.before >= OUTDATED_EVERY_MS) outdated.before = now
  }

  function closeOutdated(): void {
    if (idleSince === outdated.before) return
    idleSince = outdated.before
    for (const each of idle.splice(0)) {
      if (each.connection.openedAt >= idleSince) idle.push(each)
      else drop(each.connection)
    }
  }

  function drop(connection: Connection): void {
    connections--
    droppedAt = platformTime.elapsed()
    void connection.end(options.connectTimeoutMs)
  }

  /** Takes the connection that was used last, unless it has to be verified first. */
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
    const available = verifying + opening + idle.length + size - connections
    if (queue.size >= options.maxQueue + available) {
      return Promise.reject(fail('SHARD_BUSY', `${options.maxQueue} calls already wait for a connection`))
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiting.reject(abortedError(signal))
      const dequeue = (): void => {
        queue.delete(waiting)
        platformTime.clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const waiting: WaitingCall = {
        resolve(connection) {
          dequeue()
          resolve(connection)
        },
        reject(error) {
          dequeue()
          reject(error as Error)
        },
      }
      const timer = platformTime.setTimeout(() => {
        const isNoneOpen = connections === opening
        waiting.reject(
          isNoneOpen
            ? fail('SHARD_UNAVAILABLE', `no connection could be opened within ${acquireMs} ms`)
            : fail('SHARD_BUSY', `no connection came free within ${acquireMs} ms`, limit),
        )
      }, acquireMs)
      signal?.addEventListener('abort', onAbort, { once: true })
      queue.add(waiting)
      supply()
    })
  }

  /** Opens or verifies connections until there is one for each waiting call, within the size of the pool. */
  function supply(): void {
    while (!closed && opening + verifying < queue.size) {
      const trusted = takeTrusted()
      const last = trusted === undefined ? idle.pop() : undefined
      if (trusted !== undefined) give(trusted)
      else if (last !== undefined) void verify(last.connection)
      else if (connections === 0 || (connections < size && limited === undefined)) void open()
      else return
    }
  }

  async function open(): Promise<void> {
    connections++
    opening++
    try {
      const connection = await options.open()
      opening--
      endLimited()
      give(connection)
    } catch (error) {
      opening--
      connections--
      // A server counts a connection until it has noticed its end.
      const mayBeCounted = platformTime.elapsed() - droppedAt < LIMITED_MS
      if (isLooseleafError(error, 'SHARD_BUSY') && (connections > 0 || mayBeCounted))
        return beginLimited(error)
      endLimited()
      const [first] = queue
      // Without any connection none will be released, so no waiting call could get one.
      if (connections === 0) rejectWaiting(error)
      else first?.reject(error)
    }
    supply()
  }

  /** The server allows fewer connections than the pool. Calls wait for the open ones, since each request for another costs the server a login. */
  function beginLimited({ message }: LooseleafError): void {
    limit = `A further connection was refused: ${message.replace(`${name}: `, '')}`
    if (closed || limited !== undefined) return
    limited = platformTime.setTimeout(() => {
      limited = undefined
      supply()
    }, LIMITED_MS)
    limited.unref()
  }

  function endLimited(): void {
    limit = ''
    platformTime.clearTimeout(limited)
    limited = undefined
  }

  async function verify(connection: Connection): Promise<void> {
    verifying++
    try {
      await connection.verify(Math.min(VERIFY_MS, options.connectTimeoutMs))
    } catch {
      connection.destroy()
      // The other idle connections were used even longer ago, and verifying each would delay a call.
      for (const older of idle.splice(0)) {
        connections--
        older.connection.destroy()
      }
    }
    verifying--
    release(connection)
  }

  function give(connection: Connection): void {
    // A connection may also become outdated while it opens.
    if (connection.openedAt < outdated.before) {
      drop(connection)
      return supply()
    }
    const [first] = queue
    if (first !== undefined) first.resolve(connection)
    else if (closed) void connection.end(options.connectTimeoutMs)
    else idle.push({ connection, since: platformTime.elapsed() })
  }

  function release(connection: Connection): void {
    if (connection.mayBeOutdated) leaveServer()
    closeOutdated()
    if (connection.usable) return give(connection)
    drop(connection)
    supply()
  }

  function rejectWaiting(error: unknown): void {
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
      closeOutdated()
      const connection = takeTrusted() ?? (await wait(signal))
      connection.begin(began + deadlineMs)
      return connection
    },
    release,
    rejectWaiting,
    async close() {
      closed = true
      platformTime.clearInterval(sweeper)
      endLimited()
      rejectWaiting(fail('CLOSED', 'the connections are closed'))
      await Promise.all(
        idle.splice(0).map(({ connection }) => {
          connections--
          return connection.end(options.connectTimeoutMs)
        }),
      )
    },
  }
}
