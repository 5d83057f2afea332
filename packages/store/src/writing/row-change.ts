import { formatId, LooseleafError, type Bag, type CatalogEntry, type Codec, type Key } from '@looseleaf/core'
import { deriveEntryRows, diffRows, includedBytes, type Catalog } from '@looseleaf/index-engine'
import type { PlacedKey } from '@looseleaf/protocol'

const NONE: readonly never[] = []

/** The changes that a write makes to the index rows of its entity. */
export interface RowChange {
  /** Keys of unique indexes that the entity has to hold first. */
  readonly claimed: readonly PlacedKey[]
  readonly gained: readonly PlacedKey[]
  /** Lost rows of indexes in which the entity has none any more, and lost claims: nobody finds it by these. */
  readonly deletedNow: readonly PlacedKey[]
  /** Lost rows of indexes in which it still has others: a query may meet it by these while it moves from one to another. */
  readonly deletedLater: readonly PlacedKey[]
  /**
   * Lost rows of indexes that are being filled, where a failover may bring back what is replaced now: whoever fills may have read the
   * entity when it was something else, so that nobody has written them.
   */
  readonly mayReturn: readonly PlacedKey[]
}

/** The keys that an entity has in every index, in the order of the catalog's; undefined for one that is not there. */
export function keysOf({ indexes }: Catalog, bag: Bag | undefined): readonly (readonly Key[])[] | undefined {
  return bag && indexes.map((entry) => deriveEntryRows(entry, bag).keys)
}

/** Compares the keys of an entity before and after a write, for every index, building and retiring ones included. */
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
  for (const [i, entry] of catalog.indexes.entries()) {
    const diff = diffRows(entry, oldKeys?.[i] ?? NONE, after ?? undefined)
    refuseMisfits(entry, id, diff.misfits)
    const included =
      after === null || diff.gained.length === 0 ? undefined : includedBytes(entry, after, codec)
    for (const key of diff.gained) (entry.unique ? claimed : gained).push({ entry, key, included })
    for (const key of diff.lost)
      (diff.isIndexed && !entry.unique ? deletedLater : deletedNow).push({ entry, key })
    if (diff.lost.length === 0 || entry.state !== 'building' || entry.unique) continue
    if (before === null || catalog.policies.deleteDelayMs === 0) continue
    // Decoded anew, as the decision may have changed the bag that it was given.
    const held = entry.include && includedBytes(entry, codec.decode(before), codec)
    for (const key of diff.lost) mayReturn.push({ entry, key, included: held })
  }
  return { claimed, gained, deletedNow, deletedLater, mayReturn }
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
