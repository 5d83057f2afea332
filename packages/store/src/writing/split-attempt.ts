import type { PlacedCatalog } from '@looseleaf/index-engine/internal'
import { NONE, splitChange, type RowChange, type SplitChange } from './row-change.ts'
import { lostRowsOf } from './rows-at-once.ts'
import type { WritePolicy } from './write-policy.ts'

/**
 * Splits the change of an attempt, with the lost rows that go with its commit. In the order of FriendFeed's article no writer deletes lost
 * rows. `shard` is that of the entity.
 */
export function splitAttempt(
  catalog: PlacedCatalog,
  { writeOrder }: Pick<WritePolicy, 'writeOrder'>,
  shard: number,
  entity: { readonly id: Uint8Array; readonly version: number },
  change: RowChange,
): SplitChange {
  const { placement, policies } = catalog
  if (writeOrder === 'entity-first') return splitChange(change, placement, entity, shard, false, NONE)
  const { atOnce, ...lost } = lostRowsOf(catalog, shard, entity.id, change)
  const staying = atOnce.length === 0 ? change : { ...change, ...lost }
  // No query can need the rows that are deleted now. A failover that brings back another shard's state may.
  return splitChange(staying, placement, entity, shard, policies.deleteDelayMs === 0, atOnce)
}

/** Leaves all rows to statements of their own. */
export function withoutLocal(rows: RowChange): SplitChange {
  return { rows, local: undefined, localClaims: NONE }
}
