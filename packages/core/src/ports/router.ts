/** Which shard holds what. Pure: the same answer in every process of a store, for ever. */
export interface Router {
  /** Stored with the data; a store refuses to open with a router that says something else. */
  readonly fingerprint: string
  /** Shards that it routes to, numbered from 0. */
  readonly shardCount: number
  /** The shard of an entity, by the 16 bytes of its id; also of index rows that are kept by a uuid property. */
  shardOfId(id: Uint8Array): number
  /** The shard of index rows that are kept by any other property, by that property's key bytes. */
  shardOfKey(key: Uint8Array): number
  /** The buckets that it keeps together; left out by routers without. */
  readonly buckets?: RouterBuckets | undefined
  /** A fresh id (16 bytes). With `near`, one on the same shard as that id, now and after shards were added. */
  newId(near?: Uint8Array): Uint8Array
}

/** Every key is in one bucket for ever, and every bucket on one shard. */
export interface RouterBuckets {
  /** The number of an id's bucket, from 0. */
  ofId(id: Uint8Array): number
  /** The shard of each bucket. */
  readonly shards: readonly number[]
}
