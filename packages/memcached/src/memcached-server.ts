import type { Socket } from 'node:net'
import { LooseleafError } from '@looseleaf/core'
import { platformTime, messageOf } from '@looseleaf/core/internal'
import { MemcacheClient } from 'memcache-client'

/** Time after a failure in which calls fail at once, instead of each waiting for its timeout. */
const REST_MS = 1_000
/** Flag by which the client marks a value as bytes. */
const BYTES_FLAG = 8

export interface KeptValue {
  /** Bytes of the value; empty if its flag is not that of bytes. */
  readonly value: Buffer
  /** Number of the value for `cas`, and of the connection that read it. */
  readonly unique: string
}

/**
 * A memcached server. Calls reject with `CACHE_UNAVAILABLE` after `timeoutMs`, and at once for a second after a failure. Values live
 * for whole seconds.
 */
export interface MemcachedServer {
  readonly address: string
  gets(keys: readonly string[]): Promise<ReadonlyMap<string, KeptValue>>
  /** Stores a value unless the key has one. Resolves with whether it was stored. */
  add(key: string, value: Buffer, seconds: number): Promise<boolean>
  /**
   * Replaces the value that `unique` names. Does nothing if the key has another value or none, or if the connection has changed: a
   * restarted server counts from 1 again, so `unique` may be the number of another value.
   */
  cas(key: string, value: Buffer, seconds: number, unique: string): Promise<void>
  delete(key: string): Promise<void>
  close(): void
}

/** Returns the bytes of a value, or none for another flag. The original client fails the whole answer for an unknown flag. */
class BytesClient extends MemcacheClient {
  override _unpackValue({ cmdTokens, data }: Parameters<MemcacheClient['_unpackValue']>[0]): Buffer {
    return Number(cmdTokens[2]) === BYTES_FLAG ? (data as Buffer) : Buffer.alloc(0)
  }
}

export function memcachedServer(address: string, timeoutMs: number): MemcachedServer {
  const client = new BytesClient({
    server: { server: address, maxConnections: 1 },
    cmdTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    noDelay: true,
  })
  let restsUntil = -Infinity
  let failure: LooseleafError | undefined
  let current: Socket | undefined
  let connections = 0

  /** Returns the number of the connection that a command is written to. */
  function numberOf(socket: Socket): number {
    if (socket !== current) {
      current = socket
      connections++
    }
    return connections
  }

  /** Sends a command. Resolves with undefined for one of `refusals`: answers that the client reports as errors. */
  async function ask<T>(
    name: string,
    command: () => Promise<T>,
    ...refusals: readonly string[]
  ): Promise<T | undefined> {
    if (platformTime.elapsed() < restsUntil) throw failure
    try {
      return await withTimeout(timeoutMs, command())
    } catch (error) {
      const message = messageOf(error)
      if (refusals.includes(message)) return undefined
      restsUntil = platformTime.elapsed() + REST_MS
      failure = new LooseleafError('CACHE_UNAVAILABLE', `memcached ${address}, ${name}: ${message}`, {
        cause: error,
      })
      throw failure
    }
  }

  /** Calls `write` with the connection when the command is sent. */
  function send<T>(write: (socket: Socket) => void): Promise<T> {
    return client.send<T>((socket) => {
      if (socket === undefined) throw new Error('the connection has ended')
      write(socket)
    })
  }

  return {
    address,
    async gets(keys) {
      let connection = 0
      const found = await ask('gets', () =>
        send<Record<string, { readonly casUniq: string; readonly value: Buffer }>>((socket) => {
          connection = numberOf(socket)
          socket.write(`gets ${keys.join(' ')}\r\n`)
        }),
      )
      return new Map(
        Object.entries(found ?? {}).map(([key, { value, casUniq }]) => [
          key,
          { value, unique: `${connection} ${casUniq}` },
        ]),
      )
    },
    async add(key, value, lifetime) {
      return (await ask('add', () => client.add(key, value, { lifetime }), 'NOT_STORED')) !== undefined
    },
    async cas(key, value, seconds, unique) {
      const [connection, number] = unique.split(' ')
      const command = Buffer.from(`cas ${key} ${BYTES_FLAG} ${seconds} ${value.length} ${number}\r\n`)
      const write = (socket: Socket): void => {
        if (String(numberOf(socket)) !== connection) throw new Error('EXISTS')
        socket.write(Buffer.concat([command, value, Buffer.from('\r\n')]))
      }
      await ask('cas', () => send(write), 'EXISTS', 'NOT_FOUND')
    },
    async delete(key) {
      await ask('delete', () => client.delete(key), 'NOT_FOUND')
    },
    close: () => client.shutdown(),
  }
}

/** Rejects after a timeout. The client's own timeout compares wall clock times, and the clock may be set. */
async function withTimeout<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>()
  const timer = platformTime.setTimeout(
    () => reject(new Error(`no answer within ${milliseconds} ms`)),
    milliseconds,
  )
  try {
    return await Promise.race([work, timedOut])
  } finally {
    platformTime.clearTimeout(timer)
  }
}
