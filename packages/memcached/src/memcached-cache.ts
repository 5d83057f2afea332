import { createHash } from 'node:crypto'
import {
  checkOptions,
  badArgument,
  describeKind,
  LooseleafError,
  optionKinds,
  type SharedCache,
  type SharedCacheAnswer,
  type SharedCacheFactory,
} from '@looseleaf/core'
import { memcachedServer, type KeptValue, type MemcachedServer } from './memcached-server.ts'

export interface MemcachedOptions {
  /**
   * `host:port` of each server, by name or IPv4 address, in an order that is the same in all processes. A key is on one of them for ever;
   * one that is down is done without, and asked again after a second.
   */
  readonly servers: readonly string[]
  /** How old a value may be, in milliseconds, 4,000 at the least: seconds are the shortest that a server counts. */
  readonly maxStalenessMs: number
  /**
   * Comes before every key: up to 40 letters, digits, `_` and `-`. All processes of a store have the same one. A copy of a store has its
   * ids, so it needs another one where it uses the same servers, or each would find what the other has kept. Default: none.
   */
  readonly namespace?: string | undefined
  /** Milliseconds for an answer; 200 by default. */
  readonly timeoutMs?: number | undefined
}

const ADDRESS = "'host:port', by name or IPv4 address"
const MIN_STALENESS_MS = 4_000
/** Whole seconds that a lease is good for. */
const LEASE_SECONDS = 2
/** A server's clock ticks once a second. */
const TICK_SECONDS = 1
/** Stands for a lease: shorter than any value. */
const LEASE = Buffer.from([0])
/** No value is shorter. */
const MIN_BYTES = 16
/** Keys of a store are up to 200 letters, those of a server 250. */
const MAX_NAMESPACE = 40
const NAMESPACE = new RegExp(`^[A-Za-z0-9_-]{1,${MAX_NAMESPACE}}$`)
/** The longest relative time that a server takes; more would be a date. */
const MAX_SECONDS = 30 * 24 * 3_600

/** A cache in memcached. Nothing is connected yet. Throws `BAD_OPTION`. */
export function memcachedCache(options: MemcachedOptions): SharedCacheFactory {
  checkOptions('memcachedCache', options, {
    servers: optionKinds.array,
    maxStalenessMs: {
      expected: `a number of milliseconds, ${MIN_STALENESS_MS} or more`,
      fits: (value) => Number.isFinite(value) && (value as number) >= MIN_STALENESS_MS,
    },
    namespace: {
      expected: `a text of 1 to ${MAX_NAMESPACE} letters, digits, _ and -`,
      fits: (value) => typeof value === 'string' && NAMESPACE.test(value),
    },
    timeoutMs: {
      expected: 'a number of milliseconds, 1 or more',
      fits: (value) => Number.isFinite(value) && (value as number) >= 1,
    },
  })
  const { servers, maxStalenessMs, namespace, timeoutMs = 200 } = options
  if (maxStalenessMs === undefined) throw badArgument('memcachedCache', '{ maxStalenessMs }', undefined)
  if (!Array.isArray(servers) || servers.length === 0)
    throw badArgument('memcachedCache', `a list of servers, each ${ADDRESS}`, servers)
  for (const [i, server] of servers.entries()) {
    if (isAddress(server)) continue
    throw new LooseleafError(
      'BAD_OPTION',
      `The server ${i} of memcachedCache has to be ${ADDRESS}; got ${isHost(server) ? `'${server}'` : describeKind(server)}.`,
    )
  }
  // What is kept is as old as its lease at the most when it is kept.
  const seconds = Math.min(Math.floor(maxStalenessMs / 1_000) - LEASE_SECONDS - TICK_SECONDS, MAX_SECONDS)
  const connectAll = (): SharedCache => connect(servers as readonly string[], seconds, timeoutMs)
  return {
    maxStalenessMs,
    connect: () => (namespace === undefined ? connectAll() : within(namespace, connectAll())),
  }
}

/** The cache with keys that others do not have. */
function within(namespace: string, cache: SharedCache): SharedCache {
  const keyOf = (key: string): string => `${namespace}:${key}`
  return {
    take: (keys) => cache.take(keys.map(keyOf)),
    keep: (key, value, lease) => cache.keep(keyOf(key), value, lease),
    remove: (key) => cache.remove(keyOf(key)),
    close: () => cache.close(),
  }
}

/** What may be told: in anything else there may be a password. */
function isHost(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.-]{1,100}$/.test(value)
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^[^\s:/[\]]+:\d{1,5}$/.test(value)
}

function connect(addresses: readonly string[], seconds: number, timeoutMs: number): SharedCache {
  // A client of its own for each: one of several would put the keys of a server that is down on others, and find them again on the first
  // when it is back, whatever was removed meanwhile.
  const servers = addresses.map((address) => memcachedServer(address, timeoutMs))
  const serverOf = (key: string): MemcachedServer => servers[placeOf(key, servers.length)] as MemcachedServer

  async function lease(server: MemcachedServer, key: string): Promise<SharedCacheAnswer> {
    if (!(await server.add(key, LEASE, LEASE_SECONDS))) return undefined
    const found = (await server.gets([key])).get(key)
    // It may have expired, or have been removed, already.
    return found !== undefined && isLease(found) ? { lease: found.unique } : undefined
  }

  /** Of what nobody has kept here: it would be met by every read until it is too old. */
  async function discard(server: MemcachedServer, key: string): Promise<SharedCacheAnswer> {
    await server.delete(key)
    return {
      failed: new Error(`memcached ${server.address} had something else under ${key}; it was removed`),
    }
  }

  async function takeFrom(server: MemcachedServer, keys: readonly string[]): Promise<SharedCacheAnswer[]> {
    try {
      const found = await server.gets(keys)
      return await Promise.all(
        keys.map((key): SharedCacheAnswer | Promise<SharedCacheAnswer> => {
          const one = found.get(key)
          if (one === undefined) return lease(server, key)
          if (isLease(one)) return undefined
          return one.value.length < MIN_BYTES ? discard(server, key) : { value: one.value }
        }),
      )
    } catch (error) {
      return keys.map(() => ({ failed: error }))
    }
  }

  return {
    async take(keys) {
      const answers: SharedCacheAnswer[] = Array.from({ length: keys.length })
      const byServer = Map.groupBy(keys.keys(), (place) => serverOf(keys[place] as string))
      await Promise.all(
        Array.from(byServer, async ([server, places]) => {
          const taken = await takeFrom(
            server,
            places.map((place) => keys[place] as string),
          )
          for (const [i, place] of places.entries()) answers[place] = taken[i]
        }),
      )
      return answers
    },
    async keep(key, value, own) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      // With another lease there, or none, what was read may be older than what has been removed since.
      await serverOf(key).cas(key, bytes, seconds, own)
    },
    async remove(key) {
      await serverOf(key).delete(key)
    },
    async close() {
      for (const server of servers) server.close()
    },
  }
}

function isLease({ value }: KeptValue): boolean {
  return value.equals(LEASE)
}

/** The server of a key: the one that scores highest, so that most keys stay where they are when servers are added. */
function placeOf(key: string, count: number): number {
  if (count === 1) return 0
  let best = 0
  let highest = -1
  for (let place = 0; place < count; place++) {
    const score = createHash('sha1').update(`${place} ${key}`).digest().readUInt32BE(0)
    if (score > highest) [best, highest] = [place, score]
  }
  return best
}
