import { crc32 } from 'node:zlib'
import {
  createLane,
  elapsedBy,
  formatId,
  idKey,
  LooseleafError,
  type EntityRow,
  type SharedCache,
  type SharedCacheAnswer,
  isError,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { ShardLanes } from '../calls/shard-lanes.ts'
import type { EntityCache } from './entity-cache.ts'
import { readLaneBy, type Found } from './read-lane.ts'

/** Keys that are asked for at once, and that may wait. */
const MAX_BATCH = 256
const MAX_QUEUE = 20_000
/** A cache that fails is told of once in so long. */
const TELL_MS = 60_000
/** Entities that are done without by themselves; with more, all are. */
const MAX_WITHOUT = 100_000
/** Milliseconds between looks for what somebody else is reading. Then it is read here too. */
const WAITS_MS = [3, 10, 30]
/** A checksum of all that follows and of the id, the version and the time of writing, before the body. */
const HEAD_BYTES = 20
const SUM_BYTES = 4
/** Longer bodies are not kept: memcached takes entries of 1 MiB, key and its own head included, unless it is told otherwise. */
const MAX_BYTES = 900_000

/**
 * Keeps bodies as they are stored where other processes find them too. Who misses gets a lease, reads, and keeps what it has read while the lease is
 * good; the others wait for it. A write takes the key out when it ends, and every lease with it. Where that fails, this store does without the
 * cache for the entity until everything that was kept by then is too old.
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
  let tellsAt = -Infinity
  let withoutAllUntil = -Infinity
  /** Entities that are not asked for, and until when; in the order in which they were added, as all wait equally long. */
  const without = new Map<string, number>()
  const keeping = new Set<Promise<void>>()

  function failed(error: unknown): void {
    failures++
    lastFailure = isError(error) ? error.message : String(error)
    if (now() < tellsAt) return
    tellsAt = now() + TELL_MS
    onWarning(`The shared cache fails, and the store does without it where it does: ${lastFailure}`)
  }

  function doWithout(id: Uint8Array): void {
    for (const [key, until] of without) {
      if (until > now()) break
      without.delete(key)
    }
    if (without.size >= MAX_WITHOUT) {
      without.clear()
      withoutAllUntil = now() + maxStalenessMs
    }
    const key = idKey(id)
    // At the end of the order.
    without.delete(key)
    without.set(key, now() + maxStalenessMs)
  }

  const isWithout = (id: Uint8Array): boolean =>
    Math.max(withoutAllUntil, without.get(idKey(id)) ?? -Infinity) > now()

  const asking = createLane<Uint8Array, SharedCacheAnswer>({
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

  /** Without a body to keep the lease is given up: others would wait for it. */
  function keep(id: Uint8Array, found: Found, lease: string): void {
    const isKept = found?.body && found.body.length <= MAX_BYTES
    track(isKept ? cache.keep(keyOf(id), valueOf(found as EntityRow), lease) : cache.remove(keyOf(id)))
  }

  /** What cannot be used would be met by every read until it is too old. */
  function discard(id: Uint8Array): void {
    failed(new Error(`what is kept of entity ${formatId(id)} is damaged; it is taken out`))
    track(cache.remove(keyOf(id)))
  }

  function track(done: Promise<void>): void {
    const work = done.catch(failed)
    keeping.add(work)
    void work.finally(() => keeping.delete(work))
  }

  async function evict(id: Uint8Array): Promise<void> {
    try {
      await cache.remove(keyOf(id))
    } catch (error) {
      failed(error)
      doWithout(id)
      const entity = formatId(id)
      const message = `Entity ${entity} could not be taken out of the shared cache: ${lastFailure}`
      throw new LooseleafError('CACHE_UNAVAILABLE', message, { entity, cause: error })
    }
  }

  /** This store does without, if need be; others find what is there until it is too old. */
  const forget = (id: Uint8Array): Promise<void> => evict(id).catch(() => {})

  const readThrough = (
    lane: ShardLanes['read'],
    readAll: (ids: readonly Uint8Array[], signal: AbortSignal | undefined) => Promise<readonly Found[]>,
  ): ShardLanes['read'] =>
    readLaneBy(lane, {
      submit: async (id, signal) => (await readAll([id], signal))[0],
      submitAll: readAll,
    })

  /** What the cache says, a bit later, of entities that somebody else is reading; undefined where that takes too long. */
  async function wait(
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly SharedCacheAnswer[]> {
    const answers: SharedCacheAnswer[] = Array.from({ length: ids.length })
    for (const pause of WAITS_MS) {
      const missing = [...answers.keys()].filter((place) => answers[place] === undefined)
      if (missing.length === 0) break
      await context.time.sleep(pause, signal)
      const found = await asking.submitAll(
        missing.map((place) => ids[place]!),
        signal,
      )
      for (const [i, place] of missing.entries()) answers[place] = found[i]
    }
    return answers
  }

  /** Ids do not repeat. */
  async function over(
    lane: ShardLanes['read'],
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Found[]> {
    const rows: Found[] = Array.from({ length: ids.length })
    const pick = (places: readonly number[]): Uint8Array[] => places.map((place) => ids[place]!)
    /** Takes what the cache says of these, and reads and keeps the rest; answers which are being read by others. */
    const settle = async (
      places: readonly number[],
      answers: readonly SharedCacheAnswer[],
    ): Promise<readonly number[]> => {
      const own: number[] = []
      const leased = new Map<number, string>()
      const others: number[] = []
      for (const [i, place] of places.entries()) {
        const answer = answers[i]
        rows[place] = rowOf(ids[place]!, answer)
        if (rows[place] !== undefined) hits++
        else if (answer === undefined) others.push(place)
        else {
          own.push(place)
          if ('lease' in answer) leased.set(place, answer.lease)
          else if ('value' in answer) discard(ids[place]!)
        }
      }
      await read(own)
      for (const [place, lease] of leased) keep(ids[place]!, rows[place], lease)
      return others
    }
    const read = async (places: readonly number[]): Promise<void> => {
      misses += places.length
      const found = await lane.submitAll(pick(places), signal)
      for (const [i, place] of places.entries()) rows[place] = found[i]
    }
    const asked: number[] = []
    const left: number[] = []
    for (const [place, id] of ids.entries()) (isWithout(id) ? left : asked).push(place)
    const [others] = await Promise.all([
      asking.submitAll(pick(asked), signal).then((answers) => settle(asked, answers)),
      read(left),
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
    const different: Uint8Array[] = []
    for (const id of ids) {
      const key = idKey(id)
      if (!places.has(key)) places.set(key, different.push(id) - 1)
    }
    const rows = await over(lane, different, signal)
    return ids.map((id) => rows[places.get(idKey(id))!])
  }

  return {
    over: (lanes) => ({
      ...lanes,
      read: readThrough(lanes.read, (ids, signal) => overAll(lanes.read, ids, signal)),
    }),
    // What is read later than this is what others find.
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
      await Promise.all(keeping)
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

/** Undefined for a lease, for nothing, and for what `valueOf` has not made of this entity. */
function rowOf(id: Uint8Array, answer: SharedCacheAnswer): EntityRow | undefined {
  if (answer === undefined || !('value' in answer) || answer.value.length <= HEAD_BYTES) return undefined
  const { value } = answer
  const head = new DataView(value.buffer, value.byteOffset, value.byteLength)
  if (head.getUint32(0) !== sumOf(id, value)) return undefined
  const [version, updated] = [head.getFloat64(SUM_BYTES), head.getFloat64(SUM_BYTES + 8)]
  return { id, version, updated, body: value.subarray(HEAD_BYTES) }
}
