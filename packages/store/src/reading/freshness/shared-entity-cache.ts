import { crc32 } from 'node:zlib'
import { formatId, LooseleafError, type SharedCache } from '@looseleaf/core'
import {
  createLane,
  elapsedBy,
  idKey,
  type EntityRow,
  type SharedCacheAnswer,
  messageOf,
} from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { ShardLanes } from '../../calls/shard-lanes.ts'
import type { EntityCache } from './entity-cache.ts'
import { readLaneBy, type Found } from './read-lane.ts'

/** Keys per call of the cache, and keys that may wait for one. */
const MAX_BATCH = 256
const MAX_QUEUE = 20_000
/** Milliseconds between two warnings of a failing cache. */
const WARNING_INTERVAL_MS = 60_000
/** Entities that may bypass the cache one by one. With more, all entities bypass it. */
const MAX_BYPASSED = 100_000
/** Milliseconds to wait before each look for a row that another process is reading. After the last one, this process reads it too. */
const WAITS_MS = [3, 10, 30]
/** Bytes before the body: a checksum of the id and of all that follows, the version, and the time of writing. */
const HEAD_BYTES = 20
const SUM_BYTES = 4
/** Longer bodies are not kept. By default memcached takes entries of 1 MiB, with their key and its own head. */
const MAX_BYTES = 900_000

/**
 * Makes a cache of stored bodies that processes share.
 * 1. The first reader that misses gets a lease, reads the row, and keeps it if the lease is still valid. Other readers wait for it.
 * 2. A write removes the key at its end, and with it every lease.
 * 3. If that removal fails, this store bypasses the cache for the entity until every row kept by then is too old.
 */
export function createSharedEntityCache(
  cache: SharedCache,
  maxStalenessMs: number,
  context: EngineContext,
  onWarning: (message: string) => void,
): EntityCache {
  const now = elapsedBy(context.time)
  const store = context.catalog.current().storeId
  const keyOf = (id: Uint8Array): string => `${store}:${formatId(id)}`
  let hits = 0
  let misses = 0
  let failures = 0
  let lastFailure: string | undefined
  let nextWarningAt = -Infinity
  let allBypassedUntil = -Infinity
  /** Entities that bypass the cache, and until when. In the order of these times, since all bypass it equally long. */
  const bypassed = new Map<string, number>()
  const cacheWrites = new Set<Promise<void>>()

  function failed(error: unknown): void {
    failures++
    lastFailure = messageOf(error)
    if (now() < nextWarningAt) return
    nextWarningAt = now() + WARNING_INTERVAL_MS
    onWarning(`The shared cache fails, and the store reads from the database instead: ${lastFailure}`)
  }

  function bypass(id: Uint8Array): void {
    for (const [key, until] of bypassed) {
      if (until > now()) break
      bypassed.delete(key)
    }
    if (bypassed.size >= MAX_BYPASSED) {
      bypassed.clear()
      allBypassedUntil = now() + maxStalenessMs
    }
    const key = idKey(id)
    // Deleted first, so that it moves to the end of the order.
    bypassed.delete(key)
    bypassed.set(key, now() + maxStalenessMs)
  }

  const isBypassed = (id: Uint8Array): boolean =>
    Math.max(allBypassedUntil, bypassed.get(idKey(id)) ?? -Infinity) > now()

  const takeLane = createLane<Uint8Array, SharedCacheAnswer>({
    name: 'cache',
    maxBatch: MAX_BATCH,
    maxQueue: MAX_QUEUE,
    async run(ids) {
      let answers: readonly SharedCacheAnswer[]
      try {
        answers = await cache.take(ids.map(keyOf))
      } catch (error) {
        answers = ids.map(() => ({ failed: error }))
      }
      const [failure] = answers.filter(isFailure)
      if (failure !== undefined) failed(failure.failed)
      return answers
    },
  })

  /** Keeps a row under a lease. Gives the lease up if there is no body to keep, so that other readers do not wait. */
  function keep(id: Uint8Array, found: Found, lease: string): void {
    const isKept = found?.body && found.body.length <= MAX_BYTES
    track(isKept ? cache.keep(keyOf(id), valueOf(found as EntityRow), lease) : cache.remove(keyOf(id)))
  }

  /** Removes a damaged entry, which every read would find again. */
  function discard(id: Uint8Array): void {
    failed(new Error(`the entry of entity ${formatId(id)} is damaged; it is removed`))
    track(cache.remove(keyOf(id)))
  }

  function track(done: Promise<void>): void {
    const work = done.catch(failed)
    cacheWrites.add(work)
    void work.finally(() => cacheWrites.delete(work))
  }

  async function evict(id: Uint8Array): Promise<void> {
    try {
      await cache.remove(keyOf(id))
    } catch (error) {
      failed(error)
      bypass(id)
      const entity = formatId(id)
      const message = `Entity ${entity} could not be removed from the shared cache: ${lastFailure}`
      throw new LooseleafError('CACHE_UNAVAILABLE', message, { entity, cause: error })
    }
  }

  /** Removes an entity. If that fails, this store bypasses the cache, and other processes find the entry until it is too old. */
  const forget = (id: Uint8Array): Promise<void> => evict(id).catch(() => {})

  const readThrough = (
    lane: ShardLanes['read'],
    readAll: (ids: readonly Uint8Array[], signal: AbortSignal | undefined) => Promise<readonly Found[]>,
  ): ShardLanes['read'] =>
    readLaneBy(lane, {
      submit: async (id, signal) => (await readAll([id], signal))[0],
      submitAll: readAll,
    })

  /** Waits for entities that other processes are reading. An answer is undefined if that takes too long. */
  async function wait(
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly SharedCacheAnswer[]> {
    const answers: SharedCacheAnswer[] = Array.from({ length: ids.length })
    for (const pause of WAITS_MS) {
      const missing = [...answers.keys()].filter((place) => answers[place] === undefined)
      if (missing.length === 0) break
      await context.time.sleep(pause, signal)
      const found = await takeLane.submitAll(
        missing.map((place) => ids[place]!),
        signal,
      )
      for (const [i, place] of missing.entries()) answers[place] = found[i]
    }
    return answers
  }

  /** Reads the rows of distinct ids, from the cache or the lane. */
  async function over(
    lane: ShardLanes['read'],
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Found[]> {
    const rows: Found[] = Array.from({ length: ids.length })
    const pick = (places: readonly number[]): Uint8Array[] => places.map((place) => ids[place]!)
    /** Takes the rows that the cache has, and reads and keeps the others. Returns the places that other processes are reading. */
    const settle = async (
      places: readonly number[],
      answers: readonly SharedCacheAnswer[],
    ): Promise<readonly number[]> => {
      const missed: number[] = []
      const leased = new Map<number, string>()
      const others: number[] = []
      for (const [i, place] of places.entries()) {
        const answer = answers[i]
        rows[place] = rowOf(ids[place]!, answer)
        if (rows[place] !== undefined) hits++
        else if (answer === undefined) others.push(place)
        else {
          missed.push(place)
          if ('lease' in answer) leased.set(place, answer.lease)
          else if ('value' in answer) discard(ids[place]!)
        }
      }
      try {
        await read(missed)
      } catch (error) {
        // Without their leases, other readers need not wait for this one.
        for (const place of leased.keys()) track(cache.remove(keyOf(ids[place]!)))
        throw error
      }
      for (const [place, lease] of leased) keep(ids[place]!, rows[place], lease)
      return others
    }
    const read = async (places: readonly number[]): Promise<void> => {
      misses += places.length
      const found = await lane.submitAll(pick(places), signal)
      for (const [i, place] of places.entries()) rows[place] = found[i]
    }
    const cacheable: number[] = []
    const uncached: number[] = []
    for (const [place, id] of ids.entries()) (isBypassed(id) ? uncached : cacheable).push(place)
    const [others] = await Promise.all([
      takeLane.submitAll(pick(cacheable), signal).then((answers) => settle(cacheable, answers)),
      read(uncached),
    ])
    if (others.length > 0) await read(await settle(others, await wait(pick(others), signal)))
    return rows
  }

  async function overAll(
    lane: ShardLanes['read'],
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Found[]> {
    const places = new Map<string, number>()
    const distinct: Uint8Array[] = []
    for (const id of ids) {
      const key = idKey(id)
      if (!places.has(key)) places.set(key, distinct.push(id) - 1)
    }
    const rows = await over(lane, distinct, signal)
    return ids.map((id) => rows[places.get(idKey(id))!])
  }

  return {
    over: (lanes) => ({
      ...lanes,
      isCached: true,
      read: readThrough(lanes.read, (ids, signal) => overAll(lanes.read, ids, signal)),
    }),
    // Removes the entries before it reads, so that other processes find no older row.
    past: (lanes) => ({
      ...lanes,
      read: readThrough(lanes.read, async (ids, signal) => {
        await Promise.all(ids.map(forget))
        return lanes.read.submitAll(ids, signal)
      }),
    }),
    stats: () => ({
      entities: undefined,
      bytes: undefined,
      hits,
      misses,
      followed: undefined,
      failures,
      lastFailure,
    }),
    forget,
    evict,
    async close() {
      await Promise.all(cacheWrites)
      await cache.close()
    },
  }
}

function valueOf({ id, version, updated, body }: EntityRow): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + body!.length)
  const head = new DataView(bytes.buffer)
  head.setFloat64(SUM_BYTES, version)
  head.setFloat64(SUM_BYTES + 8, updated)
  bytes.set(body!, HEAD_BYTES)
  head.setUint32(0, sumOf(id, bytes))
  return bytes
}

const isFailure = (answer: SharedCacheAnswer): answer is { readonly failed: unknown } =>
  answer !== undefined && 'failed' in answer

const sumOf = (id: Uint8Array, value: Uint8Array): number => crc32(value.subarray(SUM_BYTES), crc32(id))

/** Returns the row of an answer; undefined if there is none, or if `valueOf` did not make it from this entity. */
function rowOf(id: Uint8Array, answer: SharedCacheAnswer): EntityRow | undefined {
  if (answer === undefined || !('value' in answer) || answer.value.length <= HEAD_BYTES) return undefined
  const { value } = answer
  const head = new DataView(value.buffer, value.byteOffset, value.byteLength)
  if (head.getUint32(0) !== sumOf(id, value)) return undefined
  const [version, updated] = [head.getFloat64(SUM_BYTES), head.getFloat64(SUM_BYTES + 8)]
  return { id, version, updated, body: value.subarray(HEAD_BYTES) }
}
