import type { Bag, IndexDefinitionData, Router } from '@looseleaf/core'
import {
  compareKeyValues,
  type Direction,
  type IndexRow,
  type IndexScan,
  type KeyRange,
  type KeyValue,
} from '@looseleaf/core/internal'
import { placementOfRouter, type Placement } from '../src/catalog/placement.ts'
import { openIndex } from '../src/keys/open-index.ts'
import { deriveRows, keyIdentity, shardOfRow, type QueryPorts, type ReadEntity } from '../src/internal.ts'

/** Creates a router that takes the last byte modulo the number of shards. */
export function lastByteRouter(shardCount: number): Router {
  const shardOf = (bytes: Uint8Array): number => (bytes.at(-1) ?? 0) % shardCount
  return {
    fingerprint: `last-byte:${shardCount}`,
    shardCount,
    shardOfId: shardOf,
    shardOfKey: shardOf,
    newId: (near) => Buffer.alloc(16, near?.at(-1) ?? 1),
  }
}

/** Creates the placement of a store with that router and no layout. */
export function lastBytePlacement(shardCount: number): Placement {
  return placementOfRouter(lastByteRouter(shardCount))
}

/** Returns an id that ends with this number. */
export function idOf(number: number): Buffer {
  const id = Buffer.alloc(16)
  id.writeUInt32BE(number, 12)
  return id
}

/** A naive store: index rows and entities in arrays. */
export interface ModelStore extends QueryPorts {
  /** Calls of the ports, in order. */
  readonly calls: ({ readonly scan: IndexScan } | { readonly read: readonly string[] })[]
  /** Size of the groups of a read. Default: Infinity. */
  groupOf: number
  /** Called before each port call. */
  onCall: () => void
  /** Commits a bag, or a tombstone for undefined; rows are not touched. */
  commit(id: Uint8Array, bag: Bag | undefined): void
  /** Adds the rows of a bag. The entity need not have it. */
  addRows(id: Uint8Array, bag: Bag): void
  removeRows(id: Uint8Array, bag: Bag): void
}

export function modelStore(definition: IndexDefinitionData, placement: Placement): ModelStore {
  const shards = Array.from({ length: placement.rows.shards.length }, () => new Map<string, IndexRow>())
  const entities = new Map<string, ReadEntity>()
  const hex = (id: Uint8Array): string => Buffer.from(id).toString('hex')
  let version = 0

  function eachRow(
    id: Uint8Array,
    bag: Bag,
    action: (shard: Map<string, IndexRow>, row: IndexRow) => void,
  ): void {
    for (const key of deriveRows(definition, bag).keys) {
      const shard = shards[shardOfRow(definition, placement, key, id)]
      if (shard !== undefined) action(shard, { key, entityId: id, version })
    }
  }
  const place = (row: IndexRow): string => keyIdentity([...row.key, row.entityId])

  const store: ModelStore = {
    calls: [],
    onCall: () => {},
    groupOf: Infinity,
    commit(id, bag) {
      version++
      if (bag === undefined) entities.delete(hex(id))
      else
        entities.set(hex(id), {
          id,
          bag,
          version,
          updated: 1_235_692_800_000_000 + version,
          bytes: bytesIn(bag),
        })
    },
    addRows: (id, bag) => eachRow(id, bag, (shard, row) => shard.set(place(row), row)),
    removeRows: (id, bag) => eachRow(id, bag, (shard, row) => shard.delete(place(row))),
    async scan(shard, scan) {
      store.onCall()
      store.calls.push({ scan })
      return scanRows([...(shards[shard]?.values() ?? [])], scan, openIndex(definition).directions)
    },
    async read(rows, _, take) {
      const ids = rows.map(({ entityId }) => entityId)
      store.onCall()
      store.calls.push({ read: ids.map(hex) })
      for (let from = 0; from < ids.length; from += store.groupOf) {
        const group = ids.slice(from, from + store.groupOf)
        if (!take(group.map((id) => entities.get(hex(id))))) return
      }
    },
  }
  return store
}

/** Returns the property `bytes` of a bag, so that a test sets the size of an entity. Default: 1. */
function bytesIn({ bytes }: Bag): number {
  return typeof bytes === 'number' ? bytes : 1
}

function scanRows(
  rows: readonly IndexRow[],
  scan: IndexScan,
  directions: readonly Direction[],
): readonly IndexRow[] {
  const sign = scan.order === 'asc' ? 1 : -1
  const compare = (a: Pick<IndexRow, 'key' | 'entityId'>, b: Pick<IndexRow, 'key' | 'entityId'>): number => {
    const column = a.key.findIndex((value, i) => compareKeyValues(value, b.key[i] as KeyValue) !== 0)
    if (column === -1) return sign * Buffer.compare(a.entityId, b.entityId)
    const way = sign * (directions[column] as Direction)
    return way * compareKeyValues(a.key[column] as KeyValue, b.key[column] as KeyValue)
  }
  return rows
    .filter((row) => inRange(scan, row))
    .filter((row) => {
      const distance = scan.after === undefined ? 1 : compare(row, scan.after)
      return distance > 0 || (distance === 0 && scan.after?.inclusive === true)
    })
    .toSorted(compare)
    .slice(0, scan.limit)
}

export function inRange(range: KeyRange, { key }: Pick<IndexRow, 'key'>): boolean {
  const { prefix, lower, upper } = range
  if (!prefix.every((value, i) => compareKeyValues(value, key[i] as KeyValue) === 0)) return false
  const value = key[prefix.length] as KeyValue
  const above = lower === undefined ? 1 : compareKeyValues(value, lower.value)
  const below = upper === undefined ? 1 : compareKeyValues(upper.value, value)
  return (
    (above > 0 || (above === 0 && lower?.inclusive === true)) &&
    (below > 0 || (below === 0 && upper?.inclusive === true))
  )
}
