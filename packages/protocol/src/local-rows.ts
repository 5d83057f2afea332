import {
  getOrInsert,
  type EntityInsert,
  type IndexRow,
  type Key,
  type LocalRows,
  type RowsOfTable,
} from '@looseleaf/core/internal'
import { isNearRow, shardsOfRow, tableSpec, type Placement } from '@looseleaf/index-engine/internal'
import type { PlacedKey } from './index-rows.ts'

/** Rows of an attempt, by the place where they are written. */
export interface SplitRows {
  /** Written in the entity's transaction. */
  readonly local: readonly PlacedKey[]
  readonly far: readonly PlacedKey[]
}

const NONE: readonly never[] = []

/**
 * Tells whether a row or claim of an entity has the entity's bucket, and is written on this shard, which is the entity's, and only there. In a
 * store of one shard, and with a router without buckets, the bucket does not count. Otherwise a row that is on the shard by chance, in another
 * bucket, is far: it shares the statements of far rows, because a transaction for a few of many entities costs more than it saves.
 */
export function isLocal(
  { entry, key }: PlacedKey,
  placement: Pick<Placement, 'buckets' | 'rows'>,
  entityId: Uint8Array,
  shard: number,
): boolean {
  const shards = shardsOfRow(entry, placement, key, entityId)
  return shards.length === 1 && shards[0] === shard && isNearRow(entry, placement, key, entityId)
}

/**
 * Splits rows of an entity by the catalog of the attempt. While a move of a row's bucket is announced, the row is written on two shards, so
 * it is far.
 *
 * The commit carries the epoch of the entity's shard, and every announcement changes the epochs of all shards. So a local row is committed
 * only while it is local.
 */
export function splitRows(
  placement: Pick<Placement, 'buckets' | 'rows'>,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  shard: number,
): SplitRows {
  if (rows.length === 0) return { local: NONE, far: NONE }
  const local: PlacedKey[] = []
  const far: PlacedKey[] = []
  for (const row of rows) (isLocal(row, placement, entityId, shard) ? local : far).push(row)
  return { local, far }
}

/** Returns the local rows of an attempt in the form of the port; undefined if there are none. */
export function localRows(
  claimed: readonly PlacedKey[],
  gained: readonly PlacedKey[],
  lost: readonly PlacedKey[],
  { id, version }: Pick<EntityInsert, 'id' | 'version'>,
): LocalRows | undefined {
  if (claimed.length === 0 && gained.length === 0 && lost.length === 0) return undefined
  const rowOf = ({ key, included }: PlacedKey): IndexRow => ({ key, entityId: id, version, included })
  return {
    claims: byTable(claimed, rowOf),
    upsert: byTable(gained, rowOf),
    remove: byTable(lost, ({ key }): { readonly key: Key } => ({ key })),
  }
}

function byTable<Row>(
  rows: readonly PlacedKey[],
  rowOf: (row: PlacedKey) => Row,
): readonly RowsOfTable<Row>[] | undefined {
  if (rows.length === 0) return undefined
  const groups = new Map<string, { readonly spec: RowsOfTable<Row>['spec']; readonly rows: Row[] }>()
  for (const row of rows) {
    const { entry } = row
    getOrInsert(groups, entry.table, () => ({ spec: tableSpec(entry), rows: [] })).rows.push(rowOf(row))
  }
  return [...groups.values()]
}
