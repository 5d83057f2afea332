import type { CatalogEntry, ExactStep, Key } from '@looseleaf/core/internal'
import { exactStepsOf, type PlacedCatalog, type Placement } from '@looseleaf/index-engine/internal'
import { isLocal, type PlacedKey } from '@looseleaf/protocol/internal'
import { NONE, type RowChange } from './row-change.ts'

/** The lost rows of a write, by the time of their deletion. Each row is in one list. */
export interface LostRows extends Pick<RowChange, 'deletedNow' | 'deletedLater'> {
  /** Deleted on the entity's shard, in the transaction of the commit. */
  readonly atOnce: readonly PlacedKey[]
}

export interface LosingWrite {
  readonly id: Uint8Array
  /** Number of the entity's shard. */
  readonly shard: number
  /** The steps of exact indexes by table, as the entity's shard has them. */
  readonly steps: ReadonlyMap<string, ExactStep>
  readonly placement: Pick<Placement, 'buckets' | 'rows'>
  readonly rows: RowChange
  /** True if a writer may have deferred rows of the entity. */
  readonly mayBePending: boolean
  /** Returns the keys of the entity after the write, in every index that is in use. */
  readonly keysAfter: () => readonly (readonly [entry: CatalogEntry, keys: readonly Key[]])[]
}

const NO_STEPS: ReadonlyMap<string, ExactStep> = new Map()

/** Splits the lost rows of a write by the catalog of its attempt. */
export function lostRowsOf(catalog: PlacedCatalog, shard: number, id: Uint8Array, rows: RowChange): LostRows {
  const { deletedNow, deletedLater } = rows
  const own = catalog.shards[shard]
  const isLosing = deletedNow.length > 0 || deletedLater.length > 0
  const steps = isLosing && own !== undefined ? exactStepsOf(own) : NO_STEPS
  if (steps.size === 0) return { deletedNow, deletedLater, atOnce: NONE }
  return splitLostRows({
    id,
    shard,
    steps,
    placement: catalog.placement,
    rows,
    mayBePending: own?.mayDefer !== undefined,
    keysAfter: () => catalog.indexes.map((entry, place) => [entry, rows.keysAfter[place] ?? NONE]),
  })
}

/**
 * A row is local if one transaction changes it and its entity. A lost row may go in the commit that loses it if it is local, its index is
 * exact, and afterwards
 * - the entity has no row in that index, or
 * - every row of the entity in every exact index is local.
 *
 * Readers then meet the entity at its old or its new place, because a statement or a snapshot reads a shard at one moment. Three weaker rules
 * make a query miss an entity that moves:
 * - Only the rows gained are local: of {near a} → {a, far d} → {d}, a query that reads the far shard before d and this shard after a finds none.
 * - Only the rows of this index are local: an intersection may have read the other index before.
 * - The lost row is local, and others are not: the same for two shards in turn.
 *
 * A row that a failover may bring back stays (see `RowChange.mayReturn`). In a store that may defer, a row also stays if the entity keeps an
 * earlier row in that index, which may be pending. A query asks for pending rows before it reads:
 * 1. The query asks, and none are pending.
 * 2. A write of {a} → {a, b} defers b.
 * 3. A write of {a, b} → {b} deletes a. The query would find neither.
 */
export function splitLostRows({
  id,
  shard,
  steps,
  placement,
  rows,
  mayBePending,
  keysAfter,
}: LosingWrite): LostRows {
  const { gained, deletedNow, deletedLater, mayReturn } = rows
  const mayGo = (row: PlacedKey): boolean =>
    steps.get(row.entry.table) === 'on' &&
    !row.entry.unique &&
    isLocal(row, placement, id, shard) &&
    !mayReturn.some(({ entry }) => entry === row.entry)
  const lostWhole = deletedNow.filter(mayGo)
  const moved = deletedLater.filter(mayGo)
  const after = moved.length > 0 ? keysAfter() : NONE
  const areAllLocal = after.every(
    ([entry, keys]) =>
      !steps.has(entry.table) || keys.every((key) => isLocal({ entry, key }, placement, id, shard)),
  )
  const gainsAll = (entry: CatalogEntry): boolean =>
    after.every(
      ([each, keys]) => each !== entry || keys.length === gained.filter((row) => row.entry === entry).length,
    )
  const gone = areAllLocal ? moved.filter(({ entry }) => !mayBePending || gainsAll(entry)) : NONE
  if (lostWhole.length === 0 && gone.length === 0) return { deletedNow, deletedLater, atOnce: NONE }
  const atOnce = new Set([...lostWhole, ...gone])
  const staysOf = (lost: readonly PlacedKey[]): readonly PlacedKey[] => lost.filter((row) => !atOnce.has(row))
  return { deletedNow: staysOf(deletedNow), deletedLater: staysOf(deletedLater), atOnce: [...atOnce] }
}
