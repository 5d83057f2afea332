/** Assigns entities and index rows to shards. Pure: every process of a store gets the same answers, for ever. */
export interface Router {
  /** Identifies the routing. It is stored with the data, and a store does not open with another one. */
  readonly fingerprint: string
  /** Number of shards; they are numbered from 0. */
  readonly shardCount: number
  /** Returns the shard of an entity by its id (16 bytes), and of index rows whose `shardOn` is a uuid property. */
  shardOfId(id: Uint8Array): number
  /** Returns the shard of index rows whose `shardOn` is any other property, by the key bytes of that property. */
  shardOfKey(key: Uint8Array): number
  /** Buckets; absent in routers without. */
  readonly buckets?: RouterBuckets | undefined
  /** Creates an id (16 bytes). With `near`, the id stays on the same shard as that one, even after shards are added. */
  newId(near?: Uint8Array): Uint8Array
}

/** Assignment by buckets: a key never changes its bucket, and each bucket is on one shard. */
export interface RouterBuckets {
  /** Returns the bucket of an id, from 0. */
  ofId(id: Uint8Array): number
  /** Shard of each bucket. */
  readonly shards: readonly number[]
}
