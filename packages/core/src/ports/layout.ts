/** The shards of a store, and the bucket map. Part of the catalog, the same on every shard. */
export interface StoreLayout {
  /** Number of changes of the layout since the store was made. A process that knows only its router's map is right while it is 0. */
  readonly revision: number
  /** The scheme of the buckets (`RouterBuckets.scheme`). Undefined for a router without buckets, whose layout is fixed. */
  readonly scheme?: string | undefined
  /** By shard number. A number is never given to another shard. */
  readonly shards: readonly LayoutShard[]
}

export interface LayoutShard {
  /** Name of its database when the layout was written, for people. */
  readonly name: string
  /** Its buckets as ascending ranges, such as `0-76,97`; undefined for a router without buckets. */
  readonly buckets?: string | undefined
}
