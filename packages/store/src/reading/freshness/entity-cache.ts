import { type Inlined, elapsedBy, idKey, type EntityRow } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { LRUCache } from 'lru-cache'
import type { ShardLanes } from '../../calls/shard-lanes.ts'
import { readLaneBy, type Found } from './read-lane.ts'
import { createCacheFollower, type FollowedStats } from './cache-follower.ts'

/** Options of a cache in memory for the entities that `get` and `getMany` read. */
export interface CacheOptions {
  /** Size of the cache in bytes: stored bodies, and 500 bytes for each. */
  readonly maxBytes: number
  /**
   * Milliseconds by which an answer may miss writes of other processes, or of another store in this process. Writes of this store
   * are seen at once. With 200 or more, the store follows the changes of its shards while the cache is used, and answers unchanged
   * entities from memory for up to 30 times as long.
   */
  readonly maxStalenessMs: number
}

export type CacheStats = Inlined<{
  /** Number of entities; undefined for a cache that processes share. */
  readonly entities: number | undefined
  /** Bytes as `maxBytes` counts them; undefined for a cache that processes share. */
  readonly bytes: number | undefined
  /** Entities that were answered from memory. */
  readonly hits: number
  /** Entities that were read, because they were not in the cache or too old. */
  readonly misses: number
  /** Numbers of the following of changes; undefined for a cache that processes share. */
  readonly followed: FollowedStats | undefined
  /** Failed calls of a shared cache; 0 for a cache in memory. */
  readonly failures: number
  readonly lastFailure: string | undefined
}>

/** A cache of stored bodies, for reads by id. */
export interface EntityCache {
  /** Returns the lanes of the shard with this number, with a read lane that answers from the cache, and keeps the rows that it reads. */
  over(lanes: ShardLanes, shard: number): ShardLanes
  /** Returns the lanes with a read lane that always reads the shard. For a cache in memory, its rows replace the kept ones. */
  past(lanes: ShardLanes, shard: number): ShardLanes
  stats(): CacheStats
  /** Called when a write of this entity has succeeded or failed. This store then answers no row that was read before. */
  forget(id: Uint8Array): void | Promise<void>
  /** Does the same for every process that shares the cache. Rejects with `CACHE_UNAVAILABLE` if another process may still find the row. */
  evict(id: Uint8Array): Promise<void>
  /** Ends the following of changes. */
  close(): Promise<void>
}

interface Kept {
  readonly version: number
  readonly updated: EntityRow['updated']
  readonly body: Uint8Array
  /** Moment just before the statement was sent that read it. */
  readonly asOf: number
  /** Shard that it was read from, and the time at which the bucket had come there (`Placement.arrivalOfId`). */
  readonly shard: number
  readonly arrival: number
}

/** Measured bytes of an entry besides its body: key, version, times, map entry, and the object of the body. */
const ENTRY_BYTES = 500

/**
 * Makes a cache in memory. Keeps stored bodies, so that each caller gets a bag decoded for it alone. Keeps no absent entities, so that an
 * entity which another process has just made is found by its id.
 */
export function createEntityCache(
  { maxBytes, maxStalenessMs }: CacheOptions,
  context: EngineContext,
): EntityCache {
  const now = elapsedBy(context.time)
  const kept = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    sizeCalculation: ({ body }) => body.length + ENTRY_BYTES,
  })
  let hits = 0
  let misses = 0
  /**
   * Ids that are being read, with the number of reads. A write or a change removes its id, so that reads which began before it keep
   * nothing: their rows may be stale.
   */
  const inFlight = new Map<string, { reads: number }>()

  const follower = createCacheFollower(context, maxStalenessMs, (id, version) => {
    const key = idKey(id)
    const entry = kept.peek(key)
    if (entry !== undefined && entry.version < version) kept.delete(key)
    inFlight.delete(key)
  })

  function find(shard: number, key: string, id: Uint8Array): EntityRow | undefined {
    const entry = kept.get(key)
    const isFresh =
      entry !== undefined &&
      (now() - entry.asOf <= maxStalenessMs ||
        (isOfOwner(shard, entry, id) && follower.vouchesFor(shard, entry.asOf)))
    if (isFresh) hits++
    else misses++
    if (entry === undefined) return undefined
    const { version, updated, body } = entry
    if (isFresh) return { id, version, updated, body }
    kept.delete(key)
    return undefined
  }

  /**
   * Tells whether the shard has owned the entity since the row was read. After a move the changes of its new owner do not tell of the
   * last writes at the old one, nor of copied rows.
   */
  const isOfOwner = (shard: number, entry: Kept, id: Uint8Array): boolean =>
    entry.shard === shard && entry.arrival === arrivalOf(id)

  const arrivalOf = (id: Uint8Array): number => context.catalog.latest().placement.arrivalOfId(id)

  /**
   * Replaces the kept row by the one found, or removes it if there is no entity. Keeps the row of a read that began later, unless this one
   * found a newer version.
   */
  function keep(key: string, found: Found, origin: Pick<Kept, 'asOf' | 'shard' | 'arrival'>): void {
    const { asOf } = origin
    const entry = kept.peek(key)
    if (entry !== undefined && entry.asOf > asOf && entry.version >= (found?.version ?? 0)) return
    kept.delete(key)
    if (!found?.body) return
    const { version, updated, body } = found
    // Copied, because a body refers to the memory of the whole answer that it came with.
    kept.set(key, { version, updated, body: new Uint8Array(body), ...origin })
  }

  function begin(key: string): { reads: number } {
    let reading = inFlight.get(key)
    if (reading === undefined) inFlight.set(key, (reading = { reads: 0 }))
    reading.reads++
    return reading
  }

  async function read(
    shard: number,
    ids: readonly Uint8Array[],
    keys: readonly string[],
    readRows: () => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    const readings = keys.map(begin)
    const asOf = now()
    const arrivals = ids.map(arrivalOf)
    let rows: readonly Found[] | undefined
    try {
      return (rows = await readRows())
    } finally {
      for (const [i, key] of keys.entries()) {
        const reading = readings[i]!
        const isUntouched = inFlight.get(key) === reading
        if (isUntouched && rows !== undefined) keep(key, rows[i], { asOf, shard, arrival: arrivals[i]! })
        if (--reading.reads === 0 && isUntouched) inFlight.delete(key)
      }
    }
  }

  const overRead = (
    lane: ShardLanes['read'],
    shard: number,
    look: (key: string, id: Uint8Array) => EntityRow | undefined,
  ): ShardLanes['read'] =>
    readLaneBy(lane, {
      async submit(id, signal) {
        const key = idKey(id)
        return (
          look(key, id) ?? (await read(shard, [id], [key], async () => [await lane.submit(id, signal)]))[0]
        )
      },
      async submitAll(ids, signal) {
        const keys = ids.map(idKey)
        const rows: Found[] = keys.map((key, i) => look(key, ids[i]!))
        const missing = [...rows.keys()].filter((i) => rows[i] === undefined)
        const missingIds = missing.map((i) => ids[i]!)
        const missingKeys = missing.map((i) => keys[i]!)
        const found = await read(shard, missingIds, missingKeys, () => lane.submitAll(missingIds, signal))
        for (const [n, i] of missing.entries()) rows[i] = found[n]
        return rows
      },
    })

  function forget(id: Uint8Array): void {
    const key = idKey(id)
    kept.delete(key)
    inFlight.delete(key)
  }

  return {
    over: (lanes, shard) => ({
      ...lanes,
      isCached: true,
      read: overRead(lanes.read, shard, (key, id) => find(shard, key, id)),
    }),
    past: (lanes, shard) => ({ ...lanes, read: overRead(lanes.read, shard, () => undefined) }),
    stats: () => ({
      entities: kept.size,
      bytes: kept.calculatedSize,
      hits,
      misses,
      followed: follower.stats(),
      failures: 0,
      lastFailure: undefined,
    }),
    forget,
    evict: async (id) => forget(id),
    close: () => follower.close(),
  }
}
