import type { LooseleafError } from '@looseleaf/core'
import type {
  CatalogEntry,
  IndexState,
  ShardCatalog,
  StoreLayout,
  StorePolicies,
} from '@looseleaf/core/internal'
import type { Placement } from './placement.ts'

/**
 * The catalog of the store as a process knows it, merged from the catalogs of the shards. The process reads them one after the
 * other, so they may be a change apart. The merged state of an index is therefore the most careful one: writers write the index
 * if any shard has it in use; queries use it only if it is ready on all shards. For a shard that does not answer, its last known
 * catalog counts. A shard that has never answered counts for nothing.
 */
export interface Catalog {
  readonly storeId: string
  /** The last known catalog of each shard, in the order of the shards; undefined for a shard that has never answered. */
  readonly shards: readonly (ShardCatalog | undefined)[]
  /**
   * The epoch of each shard, in the order of the shards. An entity write carries the epoch of its shard. 0 if unknown: no shard
   * has epoch 0, so the shard refuses the write, and the writer reads the catalog again.
   */
  readonly epochs: readonly number[]
  /** The layout of the latest contents; undefined in a store without one, whose router decides. */
  readonly layout: StoreLayout | undefined
  /** Every index that is not dropped on all shards. Each generation has an entry. */
  readonly indexes: readonly CatalogEntry[]
  /** True if index rows of committed entities may be pending, now or soon. Queries then look for pending rows. */
  readonly mayDefer: boolean
  /** True once every process has had the time to learn of `mayDefer`, so that writers may defer rows. */
  readonly everyoneLooks: boolean
  /** Time in milliseconds after which a call of a query is no longer complete. */
  readonly queryTimeMs: number
  readonly policies: StorePolicies
  /** True if indexes that are added become exact. */
  readonly exactIndexes: boolean
  /** True if bodies may refer to shapes or dictionaries of the codec. */
  readonly hasDefinitions: boolean
  /** Name of the table of entities; undefined if no known catalog has it. */
  readonly entityTable: string | undefined
  /** Errors of the shards that did not answer this reading; empty if all answered. Such a shard may have an index that is not here. */
  readonly silent: readonly LooseleafError[]
}

/** A catalog that a process holds, with the shards of ids and keys by its layout. */
export interface PlacedCatalog extends Catalog {
  readonly placement: Placement
}

/** `queryTimeMs` of a store that was created without one. */
export const DEFAULT_QUERY_TIME_MS = 5_000
/** A week: a consumer of changes that is stopped over a weekend can continue. */
const DEFAULT_KEEP_TOMBSTONES_MS = 604_800_000

/**
 * Milliseconds from the commit of an entity for which its lost index rows stay. By then every query that began before the commit
 * has ended, or reports that it is not complete. The factor covers clocks that run at different rates.
 */
export function keptRowsMs({ queryTimeMs }: Catalog): number {
  return Math.ceil(queryTimeMs * 1.1)
}

/** Tells whether writers write an index and cleaners maintain it. */
export function isInUse({ state }: CatalogEntry): boolean {
  return state === 'building' || state === 'ready'
}

/** Tells whether the backfill of an index is paused. */
export function isPaused({ state, paused }: CatalogEntry): boolean {
  return state === 'building' && paused === true
}

/** Merges the catalogs of all shards, in the order of the shards; undefined stands for a shard that has never answered. */
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
    layout: latestLayout(known),
    indexes,
    mayDefer: known.some((shard) => shard.mayDefer !== undefined),
    // The announcement (`mayDefer: false`) was on all shards for some time before shard 0 got `true`.
    everyoneLooks: known.some((shard) => shard.mayDefer === true),
    queryTimeMs: known[0]?.queryTimeMs ?? DEFAULT_QUERY_TIME_MS,
    policies: {
      deleteDelayMs: Math.max(0, ...known.map(({ deleteDelayMs = 0 }) => deleteDelayMs)),
      onIndexFailure: known.some(({ onIndexFailure }) => onIndexFailure === 'defer') ? 'defer' : 'fail',
      keepTombstonesMs: Math.max(
        ...known.map(({ keepTombstonesMs = DEFAULT_KEEP_TOMBSTONES_MS }) => keepTombstonesMs),
      ),
    },
    exactIndexes: known.some(({ exactIndexes }) => exactIndexes === true),
    hasDefinitions: known.some(({ definitions }) => definitions === true),
    entityTable: known.find(({ entityTable }) => entityTable !== undefined)?.entityTable,
    silent,
  }
}

/** Returns the layout of the latest contents. Processes that do not know layouts may leave some catalogs without one. */
export function latestLayout(catalogs: readonly (ShardCatalog | undefined)[]): StoreLayout | undefined {
  let latest: ShardCatalog | undefined
  for (const catalog of catalogs) {
    if (catalog?.layout === undefined) continue
    if (latest === undefined || contentsEpochOf(catalog) > contentsEpochOf(latest)) latest = catalog
  }
  return latest?.layout
}

/**
 * Returns the epoch of the change that gave a shard's catalog its contents. Compare the contents of two shards by this epoch: the epoch
 * of a shard also grows when its own buckets change.
 */
export function contentsEpochOf({ epoch, contentsEpoch = epoch }: ShardCatalog): number {
  return contentsEpoch
}

/** Returns the epoch of the latest contents that a process knows. */
export function latestContentsEpoch({ shards }: Pick<Catalog, 'shards'>): number {
  return Math.max(...shards.map((shard) => (shard === undefined ? 0 : contentsEpochOf(shard))))
}

function mergeStates(states: readonly (IndexState | undefined)[]): IndexState {
  // An entry that is dropped, or missing on some shards, only reserves its name.
  if (states.every((state) => state === 'dropped' || state === undefined)) return 'dropped'
  if (states.every((state) => state === 'ready')) return 'ready'
  // Writers of a shard without the entry do not write the index yet.
  if (states.some((state) => state === undefined || state === 'building')) return 'building'
  return 'retiring'
}
