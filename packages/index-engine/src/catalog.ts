import type { CatalogEntry, IndexState, LooseleafError, ShardCatalog, StorePolicies } from '@looseleaf/core'

/**
 * What a process knows of its store: every shard's catalog, read one after the other and merged. The shards may be a
 * change apart, so the merged state of an index is the most careful one: written when any shard says so, queried only
 * when all do. A shard that does not answer counts with what it has said last; what it has never said is not guessed.
 */
export interface Catalog {
  readonly storeId: string
  /** What each shard has said last, in the order of the shards; undefined for one that has not answered yet. */
  readonly shards: readonly (ShardCatalog | undefined)[]
  /**
   * Every shard's epoch, in the order of the shards. An entity write carries the one of its shard. 0 where it is not known:
   * no shard has that epoch, so it refuses the write, and the catalog is read again.
   */
  readonly epochs: readonly number[]
  /** Every index that has not been dropped everywhere, generations side by side. */
  readonly indexes: readonly CatalogEntry[]
  /** True when index rows of committed entities may be pending, now or soon: queries have to look for such. */
  readonly mayDefer: boolean
  /** True when every process has had the time to know that, so that a process may defer. */
  readonly everyoneLooks: boolean
  /** How long one call of a query may take, in milliseconds, to be complete. */
  readonly queryTimeMs: number
  readonly policies: StorePolicies
  /** True when bodies may refer to definitions of the codec. */
  readonly hasDefinitions: boolean
  /** What has kept shards from answering when this was read; empty when all have. One of these may know an index more. */
  readonly silent: readonly LooseleafError[]
}

/** What a store has whose maker has not said otherwise. */
export const DEFAULT_QUERY_TIME_MS = 5_000
/** A week: a follower of changes that is away over a weekend goes on where it was. */
const DEFAULT_KEEP_TOMBSTONES_MS = 604_800_000

/**
 * How long index rows stay that an entity has lost, in milliseconds from its commit: until every query that began before
 * has ended or says that it is not complete. Clocks do not run quite the same.
 */
export function keptRowsMs({ queryTimeMs }: Catalog): number {
  return Math.ceil(queryTimeMs * 1.1)
}

/** Whether an index is one that writers write and cleaners keep: not on its way out, and not gone. */
export function isInUse({ state }: CatalogEntry): boolean {
  return state === 'building' || state === 'ready'
}

/** Whether somebody has stopped the filling of an index. */
export function isPaused({ state, paused }: CatalogEntry): boolean {
  return state === 'building' && paused === true
}

/** Merges the catalogs of all shards, in the order of the shards; undefined for one that has never answered. */
export function mergeCatalogs(
  shards: readonly (ShardCatalog | undefined)[],
  silent: readonly LooseleafError[] = [],
): Catalog {
  const known = shards.filter((shard) => shard !== undefined)
  const entries = new Map<string, CatalogEntry>()
  for (const shard of known) for (const entry of shard.indexes) entries.set(entry.table, entry)
  const indexes: CatalogEntry[] = []
  for (const entry of entries.values()) {
    const states = known.map((shard) => shard.indexes.find(({ table }) => table === entry.table)?.state)
    const state = mergeStates(states)
    if (state !== 'dropped') indexes.push({ ...entry, state })
  }
  return {
    storeId: known[0]?.storeId ?? '',
    shards,
    epochs: shards.map((shard) => shard?.epoch ?? 0),
    indexes,
    mayDefer: known.some((shard) => shard.mayDefer !== undefined),
    // Shard 0 is the first to say so, when all others have said for some time that it is to come.
    everyoneLooks: known.some((shard) => shard.mayDefer === true),
    queryTimeMs: known[0]?.queryTimeMs ?? DEFAULT_QUERY_TIME_MS,
    policies: {
      deleteDelayMs: Math.max(0, ...known.map(({ deleteDelayMs = 0 }) => deleteDelayMs)),
      onIndexFailure: known.some(({ onIndexFailure }) => onIndexFailure === 'defer') ? 'defer' : 'fail',
      keepTombstonesMs: Math.max(
        ...known.map(({ keepTombstonesMs = DEFAULT_KEEP_TOMBSTONES_MS }) => keepTombstonesMs),
      ),
    },
    hasDefinitions: known.some(({ definitions }) => definitions === true),
    silent,
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
