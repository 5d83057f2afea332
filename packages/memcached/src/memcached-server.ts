import type { Socket } from 'node:net'
import { LooseleafError, platformTime, isError } from '@looseleaf/core'
import { MemcacheClient } from 'memcache-client'

/** After a failure a server is left alone for so long: each call would wait for its answer. */
const REST_MS = 1_000
/** What the client marks bytes with. */
const BYTES_FLAG = 8

export interface KeptValue {
  /** Empty for what is marked as something else than bytes. */
  readonly value: Buffer
  /** For `cas`: which value it is, on which connection. */
  readonly unique: string
}

/**
 * One server of memcached. Calls reject with `CACHE_UNAVAILABLE` after `timeoutMs` at the latest, and at once while the server is left
 * alone. Values live for whole seconds.
 */
export interface MemcachedServer {
  readonly address: string
  gets(keys: readonly string[]): Promise<ReadonlyMap<string, KeptValue>>
  /** Whether nothing was there. */
  add(key: string, value: Buffer, seconds: number): Promise<boolean>
  /**
   * Does nothing where another value is there, or none; nor on another connection than the one that gave `unique`: a server that
   * was started anew may have given the same number to something else.
   */
  cas(key: string, value: Buffer, seconds: number, unique: string): Promise<void>
  delete(key: string): Promise<void>
  close(): void
}

/** Gives the bytes of a value whatever it is marked with: by itself the client would fail for all that came with it. */
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

  /** Of the connection that a command is written to. */
  function numberOf(socket: Socket): number {
    if (socket !== current) {
      current = socket
      connections++
    }
    return connections
  }

  /** Undefined where the answer is one of `noes`, which the client takes for errors. */
  async function ask<T>(
    what: string,
    command: () => Promise<T>,
    ...noes: readonly string[]
  ): Promise<T | undefined> {
    if (platformTime.elapsed() < restsUntil) throw failure
    try {
      return await within(timeoutMs, command())
    } catch (error) {
      const message = isError(error) ? error.message : String(error)
      if (noes.includes(message)) return undefined
      restsUntil = platformTime.elapsed() + REST_MS
      failure = new LooseleafError('CACHE_UNAVAILABLE', `memcached ${address}, ${what}: ${message}`, {
        cause: error,
      })
      throw failure
    }
  }

  /** `write` gets the connection at the moment at which the command is sent. */
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

/** The client's own limit goes by a clock that may be set. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const timer = platformTime.setTimeout(
    () => reject(new Error(`no answer within ${milliseconds} ms`)),
    milliseconds,
  )
  try {
    return await Promise.race([work, over])
  } finally {
    platformTime.clearTimeout(timer)
  }
}
