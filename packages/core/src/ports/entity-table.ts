import type { CallOptions } from './call.ts'

export interface EntityRow {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly version: number
  /** Microseconds since 1970 by the database's clock. */
  readonly updated: number
  /** The codec's bytes; null for a tombstone. */
  readonly body: Uint8Array | null
}

/** A row whose body is left out where it has more bytes than were asked for: an answer has a bound, whatever is stored. */
export interface BoundedRow extends Omit<EntityRow, 'body'> {
  /** As in `EntityRow`; undefined where it was left out. */
  readonly body: Uint8Array | null | undefined
  /** The length of the body, of one that was left out too; 0 for a tombstone. */
  readonly bodyBytes: number
}

export interface EntityInsert {
  readonly id: Uint8Array
  readonly version: number
  readonly body: Uint8Array | null
  /** Index tables whose rows are left to the cleaner: a pending row for each is committed with the entity, or not at all. */
  readonly deferred?: readonly string[] | undefined
}

export interface EntityReplace extends EntityInsert {
  /** The version that was read, and has to be there still. */
  readonly base: number
}

export interface WriteOptions extends CallOptions {
  /** The writer's epoch; with another one on the shard nothing is written and the call rejects with `STALE_EPOCH`. */
  readonly epoch: number
}

export interface PageOptions extends CallOptions {
  /** Bodies of more bytes than this are left out. Default: none is. */
  readonly maxBody?: number | undefined
}

/** A place in a pass over the table: in the order of writing (`addedId`) or of the last change (`updated`). */
export interface EntityPageRow extends BoundedRow {
  readonly addedId: number
}

/** A place in the order of the last change: that of a row, or before all rows of a time with `addedId` 0. */
export interface UpdatedPlace {
  /** Microseconds since 1970. */
  readonly updated: number
  readonly addedId: number
}

/** A part of the rows of a shard, which one row never leaves: those whose `addedId` has one of these rests. */
export interface Partitions {
  /** How many there are, 32 at the most. */
  readonly count: number
  /** The numbers of some of them, from 0. */
  readonly some: readonly number[]
}

/** Bounds of the tombstones that may be gone from a shard; both are 0 where none is. Neither ever gets lower. */
export interface PurgeBounds {
  /** Tombstones that were updated before this time may be gone, in microseconds since 1970. */
  readonly updated: number
  /** Tombstones of versions below this one may be gone: an insert needs this version at the least. */
  readonly version: number
}

/** Times are in microseconds since 1970 by the database's clock. */
export interface FloorState {
  readonly floor: number
  readonly now: number
  readonly purged: PurgeBounds
  /** That of the catalog, from the same row: all of them were seen at one moment. */
  readonly epoch: number
}

export interface EntityCounts {
  /** Number of living entities. */
  readonly entities: number
  readonly tombstones: number
  /** When the oldest tombstone was written, in microseconds since 1970; undefined where there is none. */
  readonly oldestTombstone: number | undefined
  /** The greatest `addedId`; 0 where there is no row. */
  readonly lastAddedId: number
}

/**
 * The entities of one shard. Every write call is atomic: one that rejects has changed nothing, unless its error says
 * `unknownOutcome`. It is one statement, or one local transaction where rows have something `deferred`.
 */
export interface EntityTable {
  /** The rows of these ids, tombstones too, in the order asked; undefined where there is none. Ids may repeat. */
  read(ids: readonly Uint8Array[], options?: CallOptions): Promise<readonly (EntityRow | undefined)[]>
  /** As `read`, without the bodies that have more than `maxBody` bytes. */
  readBounded(
    ids: readonly Uint8Array[],
    maxBody: number,
    options?: CallOptions,
  ): Promise<readonly (BoundedRow | undefined)[]>
  /** As `read`, with versions alone; cheap, for reading back what became of a write. */
  readVersions(ids: readonly Uint8Array[], options?: CallOptions): Promise<readonly (number | undefined)[]>
  /** Whether there is a row with a body for each of these ids, in the order asked: a tombstone is none. Ids may repeat. */
  exist(ids: readonly Uint8Array[], options?: CallOptions): Promise<readonly boolean[]>
  /**
   * Inserts all rows, or none with `ALREADY_EXISTS` when an id is there (a tombstone too). Ids do not repeat. It inserts none either
   * if one of the versions is below the bound of the purged ones: that is `STALE_EPOCH` too.
   */
  insert(rows: readonly EntityInsert[], options: WriteOptions): Promise<void>
  /** Compare-and-swap of each row: true where the base version was still there and is replaced. Ids do not repeat. */
  replace(rows: readonly EntityReplace[], options: WriteOptions): Promise<readonly boolean[]>
  /**
   * Gives this version to the entity's row where no write can have given the one that it has (see `isVersion`), and answers whether it
   * did. The row is updated now, as by a write. Its body stays as it is.
   */
  repairVersion(id: Uint8Array, version: number, options?: CallOptions): Promise<boolean>
  /**
   * The next rows in the order of writing, after this `addedId` (0 for the first page). Tombstones too. Fewer rows than
   * `limit` are the last ones.
   */
  pageByAdded(after: number, limit: number, options?: PageOptions): Promise<readonly EntityPageRow[]>
  /**
   * Rows changed at or after `since` (µs), newest first, before the given place when one is given. Tombstones too. Fewer
   * rows than `limit` are the last ones.
   */
  pageByUpdated(
    range: {
      readonly since: number
      readonly before?: UpdatedPlace
    },
    limit: number,
    options?: PageOptions,
  ): Promise<readonly EntityPageRow[]>
  /**
   * The floor of the shard: everything that was updated before it is there, and nothing will ever come before it. Beside the time by
   * the database's clock, both in µs since 1970, and the epoch. A floor that another process has just raised may be undone by a crash.
   */
  floor(options?: CallOptions): Promise<FloorState>
  /**
   * Raises the floor to just above the database's time, or above what it was where the clock is behind; and above rows whose time is more
   * than a second ahead, since the clock was, as they would be withheld until it comes again. Waits for the writes that are under way
   * and holds up new ones meanwhile. On disk when it resolves; answers the new floor, or one that others have raised it to since.
   */
  raiseFloor(options?: CallOptions): Promise<number>
  /**
   * Rows behind this place that were updated before `until` (µs), in the order of `updated` and `addedId`. Tombstones too. Fewer
   * rows than `limit` are the last ones. With a floor for `until`, none can come between them later. Default of `of`: all rows.
   */
  pageOfChanges(
    range: {
      readonly after: UpdatedPlace
      readonly until: number
      readonly of?: Partitions | undefined
    },
    limit: number,
    options?: PageOptions,
  ): Promise<readonly EntityPageRow[]>
  /**
   * Raises the bounds of the tombstones that may be gone; neither gets lower. Waits for the inserts that are under way: each later one
   * has a version from the bound on, or is refused. On disk before whatever `purge` deletes.
   */
  raisePurged(to: PurgeBounds, options: WriteOptions): Promise<void>
  /** Deletes those rows of these ids that are tombstones within the raised bounds; answers how many. */
  purge(ids: readonly Uint8Array[], options?: CallOptions): Promise<number>
  /** Counts the rows of the shard exactly. Slow on a large table. */
  count(options?: CallOptions): Promise<EntityCounts>
}
