import type { IndexDefinitionData } from '@looseleaf/core'
import { isBytes, type Key, type KeyValue, type RouterBuckets } from '@looseleaf/core/internal'
import type { Placement } from '../catalog/placement.ts'
import { openIndex, type OpenIndex } from './open-index.ts'

/** The part of a placement that row places depend on. */
type RowShards = Pick<Placement, 'rows'>

/**
 * Returns the shard where an index row or a claim is read. It depends on the row and the layout alone, so writers and cleaners with one
 * catalog agree on it.
 */
export function shardOfRow(
  definition: IndexDefinitionData,
  { rows }: RowShards,
  key: Key,
  entityId: Uint8Array,
): number {
  return placeOfRow(definition, rows.readOfId, rows.readOfKey, key, entityId)
}

/**
 * Returns the shards where an index row or a claim is written and deleted: one, or while a move of its bucket is announced the source
 * and the target, in this order.
 */
export function shardsOfRow(
  definition: IndexDefinitionData,
  { rows }: RowShards,
  key: Key,
  entityId: Uint8Array,
): readonly number[] {
  return placeOfRow(definition, rows.writtenOfId, rows.writtenOfKey, key, entityId)
}

export function bucketOfRow(
  definition: IndexDefinitionData,
  { ofId, ofKey }: Pick<RouterBuckets, 'ofId' | 'ofKey'>,
  key: Key,
  entityId: Uint8Array,
): number {
  return placeOfRow(definition, ofId, ofKey, key, entityId)
}

/**
 * Tells whether a row of an entity has the entity's bucket, so that both are on one shard for ever. Without buckets, and in a store of one
 * shard, every row counts as near.
 */
export function isNearRow(
  definition: IndexDefinitionData,
  { buckets, rows }: Pick<Placement, 'buckets' | 'rows'>,
  key: Key,
  entityId: Uint8Array,
): boolean {
  if (buckets === undefined || rows.shards.length === 1) return true
  return bucketOfRow(definition, buckets, key, entityId) === buckets.ofId(entityId)
}

function placeOfRow<Place>(
  definition: IndexDefinitionData,
  ofId: (id: Uint8Array) => Place,
  ofKey: (key: Uint8Array) => Place,
  key: Key,
  entityId: Uint8Array,
): Place {
  const index = openIndex(definition)
  const { shardColumn } = index
  if (shardColumn === undefined) return ofId(entityId)
  const value = key[shardColumn] as KeyValue
  return isUuid(index, shardColumn) ? ofId(value as Uint8Array) : ofKey(stableBytes(value))
}

/** Returns the shards that may have rows with this prefix: one shard if the prefix contains `shardOn`, otherwise all that were not removed. */
export function shardsOfQuery(
  definition: IndexDefinitionData,
  { rows }: RowShards,
  prefix: Key,
): readonly number[] {
  const index = openIndex(definition)
  const { shardColumn } = index
  if (shardColumn !== undefined && shardColumn < prefix.length) {
    const value = prefix[shardColumn] as KeyValue
    return [
      isUuid(index, shardColumn) ? rows.readOfId(value as Uint8Array) : rows.readOfKey(stableBytes(value)),
    ]
  }
  return rows.shards
}

const isUuid = ({ types }: OpenIndex, column: number): boolean => types[column] === 'uuid'

/** Returns the bytes that decide the shard of a value. Stored rows depend on them, so they must never change. */
export function stableBytes(value: KeyValue): Uint8Array {
  if (isBytes(value)) return value
  const bytes = Buffer.alloc(8)
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value)
  else bytes.writeDoubleBE(value)
  return bytes
}
