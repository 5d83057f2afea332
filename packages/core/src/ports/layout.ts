import type { AwayBuckets } from './shard-serves.ts'

/** The shards of a store, its bucket map, and the announced moves of buckets. Part of the catalog, the same on every shard. */
export interface StoreLayout {
  /** Number of changes of the layout since the store was made. A process that knows only its router's map is right while it is 0. */
  readonly revision: number
  /** The scheme of the buckets (`RouterBuckets.scheme`). Undefined for a router without buckets, whose layout is fixed. */
  readonly scheme?: string | undefined
  /** By shard number. A number is never given to another shard. */
  readonly shards: readonly LayoutShard[]
  /** The moves that are announced, each bucket in one at most. Undefined until the first move; then it stays, often empty. */
  readonly moves?: readonly LayoutMove[] | undefined
}

export interface LayoutShard {
  /**
   * Address of its database when the layout was written, `host:port/database` or a path, without credentials. For people, and for
   * processes that were not given the shard.
   */
  readonly name: string
  /** Its buckets as ascending ranges, such as `0-76,97`; undefined for a router without buckets. */
  readonly buckets?: string | undefined
  /**
   * - `joining`: its tables and codec entries are being completed. It has no buckets.
   * - undefined: it serves.
   * - `draining`: its buckets are moving to other shards, and none moves there.
   * - `removed`: no process sends a statement to its database, which may be gone. It has no buckets, and keeps its number.
   */
  readonly state?: 'joining' | 'draining' | 'removed' | undefined
  /** The buckets that a removed shard had given up: followers of changes need the record, and cannot read it on the shard any more. */
  readonly away?: readonly AwayBuckets[] | undefined
}

/**
 * An announced move of buckets from one shard to another. The change that removes the move also gives the buckets to their shard in
 * `StoreLayout.shards`: index rows are on that shard alone from then on.
 */
export interface LayoutMove {
  /** Revision of the layout that announced the move. A later move has a greater id. */
  readonly id: number
  /** Shard numbers. */
  readonly from: number
  readonly to: number
  /** Ranges such as `77-96`. */
  readonly buckets: string
  /**
   * Index rows and claims of the buckets are written on both shards while the move is announced. The phase tells where they are read:
   * - `both`: on the shard that gives the buckets up. The other one is being filled.
   * - `target`: on the shard that takes them.
   * - `undoing`: on the shard that was to give them up, and keeps them.
   */
  readonly phase: 'both' | 'target' | 'undoing'
}
