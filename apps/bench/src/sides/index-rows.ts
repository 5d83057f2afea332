import { bucketRouter, type Bag, type Router } from 'looseleaf'
import type { Entry } from '../workload/entry.ts'
import { indexesOf, type BenchIndex, type KeyValue, type LayoutName } from '../workload/indexes.ts'

/** Router and indexes, for sides that write Looseleaf's tables themselves. */
export interface Placement {
  readonly router: Router
  readonly indexes: readonly BenchIndex[]
}

export interface IndexRow {
  readonly index: BenchIndex
  readonly shard: number
  readonly key: readonly KeyValue[]
}

export function createPlacement(shards: number, layout: LayoutName): Placement {
  return { router: bucketRouter({ shards }), indexes: indexesOf(layout) }
}

export function rowsOf({ router, indexes }: Placement, id: Uint8Array, entry: Entry): IndexRow[] {
  return indexes.flatMap((index) =>
    index.keysOf(entry).map((key) => ({ index, key, shard: shardOfRow(router, index, id, key) })),
  )
}

function shardOfRow(
  router: Router,
  { shardOn }: BenchIndex,
  id: Uint8Array,
  key: readonly KeyValue[],
): number {
  if (shardOn === 'id') return router.shardOfId(id)
  const first = key[0] as Uint8Array
  return shardOn === 'uuid' ? router.shardOfId(first) : router.shardOfKey(first)
}

/** Returns the rows that `others` lacks. Rows with equal keys are equal here: no scenario changes included properties alone. */
export function rowsWithout(rows: readonly IndexRow[], others: readonly IndexRow[]): IndexRow[] {
  return rows.filter(
    (row) => !others.some((other) => other.index === row.index && sameKey(other.key, row.key)),
  )
}

function sameKey(a: readonly KeyValue[], b: readonly KeyValue[]): boolean {
  return a.every((value, i) => {
    const other = b[i] as KeyValue
    return typeof value === 'number' ? value === other : Buffer.compare(value, other as Uint8Array) === 0
  })
}

/** Returns a version in microseconds since 1970, greater than the version that it replaces. */
export function nextVersion(base: number): number {
  // Each version is unique, because the limit side recognizes the winner of a swap by the stored version.
  lastVersion = Math.max(base, lastVersion, Date.now() * 1000 + Math.floor(Math.random() * 999)) + 1
  return lastVersion
}

let lastVersion = 0

/** Returns the properties in a row of a covering index. Like Looseleaf, it includes those of the key. */
export function includedOf({ include, columns }: BenchIndex, entry: Entry): Bag | undefined {
  if (include === undefined) return undefined
  return Object.fromEntries([...columns, ...include].map((name) => [name, entry[name]])) as Bag
}

/** Groups items by their shard. */
export function byShard<T>(items: readonly T[], shardOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) {
    const shard = shardOf(item)
    const group = groups.get(shard)
    if (group === undefined) groups.set(shard, [item])
    else group.push(item)
  }
  return groups
}
