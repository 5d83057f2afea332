import { isLooseleafError } from '@looseleaf/core'
import { type Inlined, getOrInsert } from '@looseleaf/core/internal'
import { bucketOfRow, bucketsOf } from '@looseleaf/index-engine/internal'
import { pagesByAdded, pagesOfRows, type StoreWork } from '@looseleaf/protocol/internal'

/** Exact counts of rows on one shard. */
export type BucketSize = Inlined<{
  /** Entities without tombstones. */
  readonly entities: number
  readonly tombstones: number
  /** Bytes of the bodies. Index rows take more, and so does the database. */
  readonly bytes: number
  /** Index rows and claims. */
  readonly rows: number
}>

type Counts = { -readonly [Count in keyof BucketSize]: number }

/** By bucket. A bucket without rows has no size. In a store without buckets, the bucket 0 has everything. */
export type BucketSizes = ReadonlyMap<number, BucketSize>

const NOTHING: Counts = { entities: 0, tombstones: 0, bytes: 0, rows: 0 }

/**
 * Counts everything that a shard has, by bucket, in one pass over its entities and index tables, without reading bodies. Gives way to live
 * calls. Writes meanwhile may be counted or not.
 */
export async function sizesOn(work: StoreWork, number: number): Promise<BucketSizes> {
  const { router, catalog } = work.context
  const buckets = bucketsOf(router)
  const sizes = new Map<number, Counts>()
  const sizeOf = (bucket: number): Counts => getOrInsert(sizes, bucket, () => ({ ...NOTHING }))
  for await (const page of pagesByAdded(work, number)) {
    for (const { id, body, bodyBytes } of page) {
      const size = sizeOf(buckets?.ofId(id) ?? 0)
      if (body === null) size.tombstones++
      else size.entities++
      size.bytes += bodyBytes
    }
  }
  for (const entry of catalog.current().indexes) {
    try {
      for await (const page of pagesOfRows(work, entry, number, { limit: 1_000 }))
        for (const { key, entityId } of page)
          sizeOf(buckets === undefined ? 0 : bucketOfRow(entry, buckets, key, entityId)).rows++
    } catch (error) {
      // The index was dropped meanwhile.
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
    }
  }
  return sizes
}

/** Adds sizes up. */
export function totalOf(sizes: Iterable<BucketSize>): BucketSize {
  const total = { ...NOTHING }
  for (const size of sizes)
    for (const name of ['entities', 'tombstones', 'bytes', 'rows'] as const) total[name] += size[name]
  return total
}
