/**
 * Assigns entities and index rows to shards. Pure: every process of a store gets the same answers, for ever.
 *
 * A router with buckets gives its map to the catalog when a store is made. From then on the map of the catalog decides. The layout
 * of any other router is fixed.
 */
export interface Router {
  /**
   * Identifies the routing, and begins with the scheme of `buckets` and a space if buckets alone decide the shard. It is stored with
   * the data. A store does not open with a router of another scheme, or, without buckets, with another fingerprint.
   */
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
  /**
   * Creates an id (16 bytes) on the shard of this key (see `shardOfKey`), where it stays even after shards are added. Absent in routers
   * that keep entities and keys apart.
   */
  readonly newIdNearKey?: ((key: Uint8Array) => Uint8Array) | undefined
}

/** Assignment by buckets: a key never changes its bucket, and each bucket is on one shard. */
export interface RouterBuckets {
  /** Identifies the way from ids and keys to buckets, such as `buckets-1`. */
  readonly scheme: string
  /** Returns the bucket of an id, from 0. */
  ofId(id: Uint8Array): number
  /** Returns the bucket of any other key, from 0. */
  ofKey(key: Uint8Array): number
  /** Shard of each bucket in a store that is made with this router. */
  readonly shards: readonly number[]
}
