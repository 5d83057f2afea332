import { elapsedBy, idKey, type EntityRow } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { LRUCache } from 'lru-cache'
import type { ShardLanes } from '../calls/shard-lanes.ts'
import { readLaneBy, type Found } from './read-lane.ts'
import { createCacheFollower, type FollowedStats } from './cache-follower.ts'

/** What a process keeps in memory of the entities that `get` and `getMany` have read. */
export interface CacheOptions {
  /** Bytes that everything kept may take: bodies as they are stored, and 500 bytes for each. */
  readonly maxBytes: number
  /**
   * How old an answer may be, in milliseconds, where other processes, or another store of this one, have written the entity. What
   * was written through this store is seen at once. With 200 or more the store follows the changes of its shards while it saves
   * reads, and what nobody has changed is answered for longer: 30 times as long at the most.
   */
  readonly maxStalenessMs: number
}

export interface CacheStats {
  /** Undefined for a cache that processes share. */
  readonly entities: number | undefined
  /** As `maxBytes` counts them; undefined as above. */
  readonly bytes: number | undefined
  /** Entities that were answered from memory. */
  readonly hits: number
  /** Those that had to be read, because they were not there or too old. */
  readonly misses: number
  /** By following the changes of its shards; undefined as above. */
  readonly followed: FollowedStats | undefined
  /** Calls of a shared cache that have failed; 0 for one of the process. */
  readonly failures: number
  /** What the last one has failed with. */
  readonly lastFailure: string | undefined
}

/** Stored bodies of entities in this process's memory. */
export interface EntityCache {
  /** The lanes of the shard of this number, with a read lane that answers from memory where it may, and keeps what it reads. */
  over(lanes: ShardLanes, shard: number): ShardLanes
  /** The same with a read lane that answers nothing from memory: what it reads takes the place of what is kept. */
  past(lanes: ShardLanes): ShardLanes
  stats(): CacheStats
  /** A write of this entity has ended, whichever way: what was read before its end is not answered any more by this store. */
  forget(id: Uint8Array): void | Promise<void>
  /** The same for all who share the cache; rejects with `CACHE_UNAVAILABLE` where some of them may not know. */
  evict(id: Uint8Array): Promise<void>
  /** Ends the following of changes. */
  close(): Promise<void>
}

interface Kept {
  readonly version: number
  readonly updated: EntityRow['updated']
  readonly body: Uint8Array
  /** Before the statement was sent that has read it. */
  readonly asOf: number
}

/** What else an entity takes, measured: its key, version and times, what the map needs, and the object that holds a body's bytes. */
const ENTRY_BYTES = 500

/**
 * Keeps bodies as they are stored: what a caller gets is decoded for it alone. What is not there is not kept, so an
 * entity that another process has just made is found by its id.
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
  /** Ids that are being read, and how often. A write takes its id out, as a change does: what those reads bring is from before its end. */
  const underWay = new Map<string, { reads: number }>()

  const follower = createCacheFollower(context, maxStalenessMs, (id, version) => {
    const key = idKey(id)
    const entry = kept.peek(key)
    if (entry !== undefined && entry.version < version) kept.delete(key)
    underWay.delete(key)
  })

  function find(shard: number, key: string, id: Uint8Array): EntityRow | undefined {
    const entry = kept.get(key)
    const isFresh =
      entry !== undefined && (now() - entry.asOf <= maxStalenessMs || follower.vouchesFor(shard, entry.asOf))
    if (isFresh) hits++
    else misses++
    if (entry === undefined) return undefined
    const { version, updated, body } = entry
    if (isFresh) return { id, version, updated, body }
    kept.delete(key)
    return undefined
  }

  /** In place of what was kept, be it that there is nothing to keep; a read that began later knows better, unless this one brings a newer version. */
  function keep(key: string, found: Found, asOf: number): void {
    const entry = kept.peek(key)
    if (entry !== undefined && entry.asOf > asOf && entry.version >= (found?.version ?? 0)) return
    kept.delete(key)
    if (!found?.body) return
    const { version, updated, body } = found
    // A copy: a row of an answer holds on to the memory of all rows that came with it.
    kept.set(key, { version, updated, body: new Uint8Array(body), asOf })
  }

  function begin(key: string): { reads: number } {
    let reading = underWay.get(key)
    if (reading === undefined) underWay.set(key, (reading = { reads: 0 }))
    reading.reads++
    return reading
  }

  async function read(
    keys: readonly string[],
    ask: () => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    const readings = keys.map(begin)
    const asOf = now()
    let rows: readonly Found[] | undefined
    try {
      return (rows = await ask())
    } finally {
      for (const [i, key] of keys.entries()) {
        const reading = readings[i]!
        const isUntouched = underWay.get(key) === reading
        if (isUntouched && rows !== undefined) keep(key, rows[i], asOf)
        if (--reading.reads === 0 && isUntouched) underWay.delete(key)
      }
    }
  }

  const overRead = (
    lane: ShardLanes['read'],
    look: (key: string, id: Uint8Array) => EntityRow | undefined,
  ): ShardLanes['read'] =>
    readLaneBy(lane, {
      async submit(id, signal) {
        const key = idKey(id)
        return look(key, id) ?? (await read([key], async () => [await lane.submit(id, signal)]))[0]
      },
      async submitAll(ids, signal) {
        const keys = ids.map(idKey)
        const rows: Found[] = keys.map((key, i) => look(key, ids[i]!))
        const missing = [...rows.keys()].filter((i) => rows[i] === undefined)
        const found = await read(
          missing.map((i) => keys[i]!),
          () =>
            lane.submitAll(
              missing.map((i) => ids[i]!),
              signal,
            ),
        )
        for (const [n, i] of missing.entries()) rows[i] = found[n]
        return rows
      },
    })

  function forget(id: Uint8Array): void {
    const key = idKey(id)
    kept.delete(key)
    underWay.delete(key)
  }

  return {
    over: (lanes, shard) => ({
      ...lanes,
      read: overRead(lanes.read, (key, id) => find(shard, key, id)),
    }),
    past: (lanes) => ({ ...lanes, read: overRead(lanes.read, () => undefined) }),
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
