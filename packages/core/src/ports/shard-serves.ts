import type { EntityId } from '../entities/entity-id.ts'

/**
 * The buckets whose entities a shard serves, and those on their way from or to it. A part of the shard's own catalog: each change raises
 * the epoch of this shard alone, so the shard refuses the writes of processes that do not know the change.
 */
export interface ShardServes {
  /** The buckets that it owns, as ranges: entities of other buckets are not read or written here. */
  readonly owns: string
  /** Owned buckets that are being copied to another shard. */
  readonly leaving?: readonly LeavingBuckets[] | undefined
  /** Buckets that it has given up. Only their new shard serves them, once that has begun. */
  readonly away?: readonly AwayBuckets[] | undefined
  /** Buckets that are being copied to it, and are served by the other shard. */
  readonly coming?: readonly ComingBuckets[] | undefined
  /**
   * Buckets that came from another shard. A record stays, also while its buckets are away again, until they arrive anew: followers of changes
   * need it to tell copies from changes. If it ended before the record of the other
   * shard (`away`), processes would take the buckets for ones that this shard has not begun to serve.
   */
  readonly arrived?: readonly ArrivedBuckets[] | undefined
}

interface BucketsInMotion {
  /** Id of the move (`LayoutMove.id`). */
  readonly move: number
  /** Number of the attempt at these buckets, which follows the epoch of the source. A later attempt of the same move has a greater number. */
  readonly attempt: number
  /** Ranges such as `77-96`. */
  readonly buckets: string
}

export interface LeavingBuckets extends BucketsInMotion {
  /** Number of the shard that takes them. */
  readonly to: number
  /** The sealed part of `buckets`: writes wait, and reads go on. */
  readonly sealed?: string | undefined
}

export interface AwayBuckets extends BucketsInMotion {
  /** Number of the shard that has taken them. */
  readonly to: number
  /** A time of writing above that of every moved entity, in microseconds since 1970; 0 if there was none. */
  readonly end: number
  /**
   * Set once their entities are being deleted here: a floor that was raised before, after the other shard had begun, in microseconds since
   * 1970. A follower that began at it or later reads the entities on the other shard.
   */
  readonly emptied?: number | undefined
  /**
   * The entity that was copied last, unless the other shard has begun to serve buckets of the move since. With this copy it has all of them;
   * without, it went back to an earlier state.
   */
  readonly last?: CopiedEntity | undefined
}

export interface CopiedEntity {
  readonly id: EntityId
  /** Time of writing of the copy on the other shard, in microseconds since 1970. A later copy of the entity has a later one. */
  readonly updated: number
}

export interface ComingBuckets extends BucketsInMotion {
  /** Number of the shard that gives them up. */
  readonly from: number
  /** Every copied entity has a greater `addedId` on this shard. */
  readonly afterAddedId: number
}

export interface ArrivedBuckets extends ComingBuckets {
  /** `end` of the shard that has given them up. */
  readonly end: number
  /** Floor at which this shard began to serve them, in microseconds since 1970. Copied entities have an earlier time of writing here. */
  readonly begin: number
}
