import { createHash } from 'node:crypto'
import type { SharedCache, SharedCacheFactory } from '@looseleaf/core'
import {
  asBuffer,
  badOption,
  badArgument,
  checkOptions,
  describeKind,
  optionKinds,
  type SharedCacheAnswer,
} from '@looseleaf/core/internal'
import { memcachedServer, type KeptValue, type MemcachedServer } from './memcached-server.ts'

export interface MemcachedOptions {
  /**
   * `host:port` of each server, by name or IPv4 address, in the same order in all processes. A key always belongs to the same server.
   * If that one is down, its keys are not cached; it is tried again after a second.
   */
  readonly servers: readonly string[]
  /** Largest age of a value in milliseconds. At least 4,000, since servers count whole seconds. */
  readonly maxStalenessMs: number
  /**
   * Prefix of every key: up to 40 letters, digits, `_` and `-`, the same in all processes of a store. A copy of a store has the same
   * ids, so on the same servers it needs another namespace, or each reads the values of the other. Default: none.
   */
  readonly namespace?: string | undefined
  /** Milliseconds for an answer. Default: 200. */
  readonly timeoutMs?: number | undefined
}

const ADDRESS = "'host:port', by name or IPv4 address"
const MIN_STALENESS_MS = 4_000
/** Lifetime of a lease, in whole seconds. */
const LEASE_SECONDS = 2
/** Step of a server's clock. */
const TICK_SECONDS = 1
/** Value that stands for a lease. It is shorter than `MIN_BYTES`. */
const LEASE = Buffer.from([0])
/** Length of the shortest value. */
const MIN_BYTES = 16
/** A store's keys have up to 200 letters, and servers allow 250. */
const MAX_NAMESPACE = 40
const NAMESPACE = new RegExp(`^[A-Za-z0-9_-]{1,${MAX_NAMESPACE}}$`)
/** Longest relative time of memcached. A larger number would be a date. */
const MAX_SECONDS = 30 * 24 * 3_600

/** Describes a cache in memcached. Connections are opened by the first calls. Throws `BAD_OPTION`. */
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
    throw badOption(
      `The server ${i} of memcachedCache has to be ${ADDRESS}; got ${isHost(server) ? `'${server}'` : describeKind(server)}.`,
    )
  }
  // A value is read after its lease was given, so at its `keep` it may be as old as the lease, and one tick of the clock.
  const seconds = Math.min(Math.floor(maxStalenessMs / 1_000) - LEASE_SECONDS - TICK_SECONDS, MAX_SECONDS)
  const connectAll = (): SharedCache => connect(servers as readonly string[], seconds, timeoutMs)
  return {
    maxStalenessMs,
    connect: () => (namespace === undefined ? connectAll() : withNamespace(namespace, connectAll())),
  }
}

function withNamespace(namespace: string, cache: SharedCache): SharedCache {
  const keyOf = (key: string): string => `${namespace}:${key}`
  return {
    take: (keys) => cache.take(keys.map(keyOf)),
    keep: (key, value, lease) => cache.keep(keyOf(key), value, lease),
    remove: (key) => cache.remove(keyOf(key)),
    close: () => cache.close(),
  }
}

/** Tells whether a value may stand in a message. Any other text may contain a password. */
function isHost(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.-]{1,100}$/.test(value)
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^[^\s:/[\]]+:\d{1,5}$/.test(value)
}

function connect(addresses: readonly string[], seconds: number, timeoutMs: number): SharedCache {
  // One client per server, because a client of several moves the keys of a server that is down:
  // 1. The server of key K does not answer. The client sends a removal of K to another server.
  // 2. The first server answers again, still with the old value of K, and reads return it.
  const servers = addresses.map((address) => memcachedServer(address, timeoutMs))
  const serverOf = (key: string): MemcachedServer => servers[placeOf(key, servers.length)] as MemcachedServer

  async function lease(server: MemcachedServer, key: string): Promise<SharedCacheAnswer> {
    if (!(await server.add(key, LEASE, LEASE_SECONDS))) return undefined
    const found = (await server.gets([key])).get(key)
    // The lease may already have expired or been removed.
    return found !== undefined && isLease(found) ? { lease: found.unique } : undefined
  }

  /** Removes a value of another program. Otherwise every read would meet it until it expires. */
  async function discard(server: MemcachedServer, key: string): Promise<SharedCacheAnswer> {
    await server.delete(key)
    return {
      failed: new Error(
        `memcached ${server.address} had a value of another program under ${key}; it was removed`,
      ),
    }
  }

  async function takeFrom(server: MemcachedServer, keys: readonly string[]): Promise<SharedCacheAnswer[]> {
    try {
      const found = await server.gets(keys)
      return await Promise.all(
        keys.map((key): SharedCacheAnswer | Promise<SharedCacheAnswer> => {
          const kept = found.get(key)
          if (kept === undefined) return lease(server, key)
          if (isLease(kept)) return undefined
          return kept.value.length < MIN_BYTES ? discard(server, key) : { value: kept.value }
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
    async keep(key, value, ownLease) {
      const bytes = asBuffer(value)
      // `cas` keeps the value only if the lease is still there:
      // 1. A read gets a lease, and reads version 1 from the database.
      // 2. A write commits version 2, and removes the key, and so the lease.
      // 3. The read keeps version 1. Without the comparison, it would be returned until it expires.
      await serverOf(key).cas(key, bytes, seconds, ownLease)
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

/** Returns the server with the highest score for a key, so that most keys keep their server when servers are added. */
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
