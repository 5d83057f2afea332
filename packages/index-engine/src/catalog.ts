import type { CatalogEntry, IndexState, ShardCatalog } from '@looseleaf/core'

/**
 * What a process knows of its store: every shard's catalog, read one after the other and merged. The shards may be a
 * change apart, so the merged state of an index is the most careful one: written when any shard says so, queried only
 * when all do.
 */
export interface Catalog {
  readonly storeId: string
  /** Every shard's epoch, in the order of the shards. An entity write carries the one of its shard. */
  readonly epochs: readonly number[]
  /** Every index that has not been dropped everywhere, generations side by side. */
  readonly indexes: readonly CatalogEntry[]
  /** True when index rows of committed entities may be pending, now or soon: queries have to look for such. */
  readonly mayDefer: boolean
  /** True when every process has had the time to know that, so that a process may defer. */
  readonly everyoneLooks: boolean
  /** How long one call of a query may take, in milliseconds, to be complete. */
  readonly queryTimeMs: number
}

/** What a store has whose maker has not said otherwise. */
export const DEFAULT_QUERY_TIME_MS = 5_000

/**
 * How long index rows stay that an entity has lost, in milliseconds from its commit: until every query that began before
 * has ended or says that it is not complete. Clocks do not run quite the same.
 */
export function keptRowsMs({ queryTimeMs }: Catalog): number {
  return Math.ceil(queryTimeMs * 1.1)
}

/** Merges the catalogs of all shards, in the order of the shards. */
export function mergeCatalogs(shards: readonly ShardCatalog[]): Catalog {
  const entries = new Map<string, CatalogEntry>()
  for (const shard of shards) for (const entry of shard.indexes) entries.set(entry.table, entry)
  const indexes: CatalogEntry[] = []
  for (const entry of entries.values()) {
    const states = shards.map((shard) => shard.indexes.find(({ table }) => table === entry.table)?.state)
    const state = mergeStates(states)
    if (state !== 'dropped') indexes.push({ ...entry, state })
  }
  return {
    storeId: shards[0]?.storeId ?? '',
    epochs: shards.map((shard) => shard.epoch),
    indexes,
    mayDefer: shards.some((shard) => shard.mayDefer !== undefined),
    // Shard 0 is the first to say so, when all others have said for some time that it is to come.
    everyoneLooks: shards.some((shard) => shard.mayDefer === true),
    queryTimeMs: shards[0]?.queryTimeMs ?? DEFAULT_QUERY_TIME_MS,
  }
}

function mergeStates(states: readonly (IndexState | undefined)[]): IndexState {
  // One that only some shards have heard of never came to be: its name was taken, and nothing else.
  if (states.every((state) => state === 'dropped' || state === undefined)) return 'dropped'
  if (states.every((state) => state === 'ready')) return 'ready'
  // A shard that has not heard of the index yet is a shard whose writers do not write it yet.
  if (states.some((state) => state === undefined || state === 'building')) return 'building'
  return 'retiring'
}
