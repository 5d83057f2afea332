import type { IndexDefinitionData } from '@looseleaf/core'
import { isBytes, type Key, type KeyValue } from '@looseleaf/core/internal'
import type { Placement } from '../catalog/placement.ts'
import { openIndex, type OpenIndex } from './open-index.ts'

/** Returns the shard of an index row. It depends on the row and the layout alone, so writers and cleaners with one catalog agree on it. */
export function shardOfRow(
  definition: IndexDefinitionData,
  placement: Placement,
  key: Key,
  entityId: Uint8Array,
): number {
  const index = openIndex(definition)
  const { shardColumn } = index
  return shardColumn === undefined
    ? placement.shardOfId(entityId)
    : shardOfColumn(index, placement, shardColumn, key)
}

/** Returns the shards that may have rows with this prefix: one shard if the prefix contains `shardOn`, otherwise all shards. */
export function shardsOfQuery(
  definition: IndexDefinitionData,
  placement: Placement,
  prefix: Key,
): readonly number[] {
  const index = openIndex(definition)
  const { shardColumn } = index
  if (shardColumn !== undefined && shardColumn < prefix.length) {
    return [shardOfColumn(index, placement, shardColumn, prefix)]
  }
  return Array.from({ length: placement.shardCount }, (_, shard) => shard)
}

function shardOfColumn(index: OpenIndex, placement: Placement, column: number, key: Key): number {
  const value = key[column] as KeyValue
  if (index.types[column] !== 'uuid') return placement.shardOfKey(stableBytes(value))
  return placement.shardOfId(value as Uint8Array)
}

/** Returns the bytes that decide the shard of a value. Stored rows depend on them, so they must never change. */
function stableBytes(value: KeyValue): Uint8Array {
  if (isBytes(value)) return value
  const bytes = Buffer.alloc(8)
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value)
  else bytes.writeDoubleBE(value)
  return bytes
}
