import { formatId, LooseleafError, type Bag, type Codec } from '@looseleaf/core'
import type { CatalogEntry, Key, LocalRows } from '@looseleaf/core/internal'
import {
  deriveEntryRows,
  diffRows,
  includedBytes,
  type Catalog,
  type Placement,
} from '@looseleaf/index-engine/internal'
import { localRows, splitRows, type PlacedKey } from '@looseleaf/protocol/internal'

/** The list that a step without rows returns at once, without a promise. */
export const NONE: readonly never[] = []

/** The changes that a write makes to the index rows of its entity. */
export interface RowChange {
  /** Keys of unique indexes that the entity has to claim before the commit. */
  readonly claimed: readonly PlacedKey[]
  readonly gained: readonly PlacedKey[]
  /** Lost rows of indexes in which the entity has no row any more, and lost claims. No query needs them. */
  readonly deletedNow: readonly PlacedKey[]
  /** Lost rows of indexes in which the entity has other rows. A query that is under way may find the moving entity by these alone. */
  readonly deletedLater: readonly PlacedKey[]
  /**
   * Lost rows of `building` indexes, if a failover may undo this write (`deleteDelayMs`).
   * 1. The backfill reads the entity in an older state, and writes the rows of that state.
   * 2. This write replaces the state in between, whose rows are not written yet.
   * 3. A failover brings the state in between back, and its rows would be missing.
   */
  readonly mayReturn: readonly PlacedKey[]
  /** All keys of the entity after the write, by index in the order of the catalog. */
  readonly keysAfter: readonly (readonly Key[])[]
}

/** Returns the keys of a bag for each index, in the order of the catalog; undefined if there is no bag. */
export function keysOf({ indexes }: Catalog, bag: Bag | undefined): readonly (readonly Key[])[] | undefined {
  return bag && indexes.map((entry) => deriveEntryRows(entry, bag).keys)
}

/** Compares the keys of an entity before and after a write, for every index of the catalog in any state. */
export function diffAll(
  catalog: Catalog,
  codec: Codec,
  id: Uint8Array,
  oldKeys: readonly (readonly Key[])[] | undefined,
  before: Uint8Array | null,
  after: Bag | null,
): RowChange {
  const claimed: PlacedKey[] = []
  const gained: PlacedKey[] = []
  const deletedNow: PlacedKey[] = []
  const deletedLater: PlacedKey[] = []
  const mayReturn: PlacedKey[] = []
  const keysAfter: (readonly Key[])[] = []
  for (const [i, entry] of catalog.indexes.entries()) {
    const diff = diffRows(entry, oldKeys?.[i] ?? NONE, after ?? undefined)
    refuseMisfits(entry, id, diff.misfits)
    keysAfter.push(diff.keys)
    const included =
      after === null || diff.gained.length === 0 ? undefined : includedBytes(entry, after, codec)
    for (const key of diff.gained) (entry.unique ? claimed : gained).push({ entry, key, included })
    for (const key of diff.lost)
      (diff.isIndexed && !entry.unique ? deletedLater : deletedNow).push({ entry, key })
    if (diff.lost.length === 0 || entry.state !== 'building' || entry.unique) continue
    if (before === null || catalog.policies.deleteDelayMs === 0) continue
    // The decision may have changed the decoded bag, so the body is decoded again.
    const held = entry.include && includedBytes(entry, codec.decode(before), codec)
    for (const key of diff.lost) mayReturn.push({ entry, key, included: held })
  }
  return { claimed, gained, deletedNow, deletedLater, mayReturn, keysAfter }
}

/** A change of index rows, split by the way in which they are written. */
export interface SplitChange {
  /** The rows that are written by statements of their own. */
  readonly rows: RowChange
  /** The rows that are written in the transaction of the entity; undefined if there are none. */
  readonly local: LocalRows | undefined
  /** The claims among them. */
  readonly localClaims: readonly PlacedKey[]
}

/**
 * Splits a change by the catalog of the attempt; `shard` is that of the entity. With `removesLocal` the local rows and claims that may be
 * deleted at once are deleted in the transaction. `atOnce` has further lost rows to delete there, see `lostRowsOf`.
 */
export function splitChange(
  rows: RowChange,
  placement: Placement,
  entity: { readonly id: Uint8Array; readonly version: number },
  shard: number,
  removesLocal: boolean,
  atOnce: readonly PlacedKey[],
): SplitChange {
  const split = (some: readonly PlacedKey[]) => splitRows(placement, some, entity.id, shard)
  const [claimed, gained] = [split(rows.claimed), split(rows.gained)]
  const deleted = removesLocal ? split(rows.deletedNow) : { local: NONE, far: rows.deletedNow }
  const lost = atOnce.length === 0 ? deleted.local : [...deleted.local, ...atOnce]
  const local = localRows(claimed.local, gained.local, lost, entity)
  if (local === undefined) return { rows, local, localClaims: NONE }
  return {
    rows: { ...rows, claimed: claimed.far, gained: gained.far, deletedNow: deleted.far },
    local,
    localClaims: claimed.local,
  }
}

function refuseMisfits(
  entry: CatalogEntry,
  id: Uint8Array,
  misfits: readonly { readonly property: string; readonly reason: string }[],
): void {
  const misfit = misfits[0]
  if (misfit === undefined || entry.onMisfit === 'skip') return
  throw new LooseleafError(
    'BAD_INDEX_VALUE',
    `Index ${entry.name}: property ${misfit.property}: ${misfit.reason}.`,
    { entity: formatId(id), index: entry.name },
  )
}
