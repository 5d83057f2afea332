import { createHash } from 'node:crypto'
import {
  checkOptions,
  badArgument,
  LooseleafError,
  optionKinds,
  type SharedCache,
  type SharedCacheAnswer,
  type SharedCacheFactory,
} from '@looseleaf/core'
import { MemcacheClient } from 'memcache-client'

export interface MemcachedOptions {
  /**
   * `host:port` of each server, in an order that is the same in all processes. A key is on one of them for ever; one that is down is done
   * without.
   */
  readonly servers: readonly string[]
  /** How old a value may be, in milliseconds, 4,000 at the least: seconds are the shortest that a server counts. */
  readonly maxStalenessMs: number
  /** Milliseconds for an answer; 200 by default. */
  readonly timeoutMs?: number | undefined
}

const MIN_STALENESS_MS = 4_000
/** Whole seconds that a lease is good for. */
const LEASE_SECONDS = 2
/** A server's clock ticks once a second. */
const TICK_SECONDS = 1
/** Stands for a lease: shorter than any value. */
const LEASE = Buffer.from([0])
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
    timeoutMs: {
      expected: 'a number of milliseconds, 1 or more',
      fits: (value) => Number.isFinite(value) && (value as number) >= 1,
    },
  })
  const { servers, maxStalenessMs, timeoutMs = 200 } = options
  if (maxStalenessMs === undefined) throw badArgument('memcachedCache', '{ maxStalenessMs }', undefined)
  if (!Array.isArray(servers) || servers.length === 0 || !servers.every(isAddress))
    throw badArgument('memcachedCache', "a list of servers, each as 'host:port'", servers)
  // What is kept is as old as its lease at the most when it is kept.
  const seconds = Math.min(Math.floor(maxStalenessMs / 1_000) - LEASE_SECONDS - TICK_SECONDS, MAX_SECONDS)
  return { maxStalenessMs, connect: () => connect(servers as readonly string[], seconds, timeoutMs) }
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$/.test(value)
}

/** As the client gives it. */
interface Kept {
  readonly tokens: string[]
  readonly casUniq: string | number
  readonly value: Buffer
}

function connect(servers: readonly string[], seconds: number, timeoutMs: number): SharedCache {
  // A client of its own for each: one of several would put the keys of a server that is down on others, and find them again on the first
  // when it is back, whatever was removed meanwhile.
  const clients = servers.map(
    (server) =>
      new MemcacheClient({
        server: { server, maxConnections: 1 },
        cmdTimeout: timeoutMs,
        connectTimeout: timeoutMs,
        noDelay: true,
      }),
  )
  const clientOf = (key: string): MemcacheClient => clients[placeOf(key, clients.length)] as MemcacheClient

  async function lease(client: MemcacheClient, key: string): Promise<SharedCacheAnswer> {
    const isAdded = await answers(client.add(key, LEASE, { lifetime: LEASE_SECONDS }), 'NOT_STORED')
    if (!isAdded) return undefined
    const found = await client.gets<Buffer>(key)
    // It may have expired, or have been removed, already.
    return isLease(found) ? { lease: String(found.casUniq) } : undefined
  }

  async function takeFrom(client: MemcacheClient, keys: readonly string[]): Promise<SharedCacheAnswer[]> {
    const found = await client.gets<Record<string, Kept>>([...keys])
    return Promise.all(
      keys.map((key): SharedCacheAnswer | Promise<SharedCacheAnswer> => {
        const one = found[key]
        if (one === undefined) return lease(client, key)
        return isLease(one) ? undefined : { value: one.value }
      }),
    )
  }

  return {
    async take(keys) {
      const answersOf: SharedCacheAnswer[] = Array.from({ length: keys.length })
      const byClient = Map.groupBy(keys.keys(), (place) => clientOf(keys[place] as string))
      await Promise.all(
        Array.from(byClient, async ([client, places]) => {
          const taken = await takeFrom(
            client,
            places.map((place) => keys[place] as string),
          )
          for (const [i, place] of places.entries()) answersOf[place] = taken[i]
        }),
      )
      return answersOf
    },
    async keep(key, value, own) {
      // Another lease, or none: what was read may be older than what has been removed since.
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      await answers(clientOf(key).cas(key, bytes, { casUniq: own, lifetime: seconds }), 'EXISTS', 'NOT_FOUND')
    },
    async remove(key) {
      await answers(clientOf(key).delete(key), 'NOT_FOUND')
    },
    async close() {
      for (const client of clients) client.shutdown()
    },
  }
}

function isLease(found: { readonly value: Buffer } | undefined): boolean {
  return found !== undefined && found.value.length === LEASE.length
}

/** False for these answers, which the client takes for errors; throws all others. */
async function answers(command: Promise<unknown>, ...others: readonly string[]): Promise<boolean> {
  try {
    await command
    return true
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (others.includes(message)) return false
    throw new LooseleafError('SHARD_UNAVAILABLE', `memcached: ${message}`, { cause: error })
  }
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
