import type { CallOptions } from './call.ts'
import type { IndexRow, IndexTableSpec, Key } from './index-table.ts'
import type { ClaimHolder } from './claim-table.ts'

export interface EntityRow {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly version: number
  /** Microseconds since 1970 by the database's clock. */
  readonly updated: number
  /** Bytes of the codec; null for a tombstone. */
  readonly body: Uint8Array | null
}

/** A row without its body if the body is larger than the caller's bound, so that answers are bounded. */
export interface BoundedRow extends Omit<EntityRow, 'body'> {
  /** As in `EntityRow`; undefined if it was left out. */
  readonly body: Uint8Array | null | undefined
  /** Length of the body, even if it was left out; 0 for a tombstone. */
  readonly bodyBytes: number
}

export interface EntityInsert {
  readonly id: Uint8Array
  readonly version: number
  readonly body: Uint8Array | null
  /** Index tables whose rows the cleaner writes later. Each gets a pending row, in the same transaction as the entity. */
  readonly deferred?: readonly string[] | undefined
  /** Index rows and claims that are written in the transaction of the entity. */
  readonly local?: LocalRows | undefined
}

/** Rows of one table. A table stands in a list once. */
export interface RowsOfTable<Row> {
  readonly spec: IndexTableSpec
  readonly rows: readonly Row[]
}

/**
 * Index rows and claims that a write of an entity changes on the entity's own shard. All of them belong to this entity, and their stamps
 * are its version. Every method rejects with `INDEX_NOT_FOUND` and writes nothing if a table is missing.
 */
export interface LocalRows {
  /**
   * Upserted before the entity, as `IndexTable.upsert` does. A row that loses its compare-and-swap leaves them, and the cleaner deletes
   * them.
   */
  readonly upsert?: readonly RowsOfTable<IndexRow>[] | undefined
  /**
   * Claims that are taken before the entity if they are free, and whose stamp is raised if the entity has them. If another entity has one
   * of them, the call rejects with `DUPLICATE_KEY` and writes nothing, for all rows of the call. A row that loses its compare-and-swap
   * leaves them taken.
   */
  readonly claims?: readonly RowsOfTable<IndexRow>[] | undefined
  /**
   * Rows and claims that are deleted behind the entity if it was written, and if their stamp is below its version. A row that loses its
   * compare-and-swap deletes none.
   */
  readonly remove?: readonly RowsOfTable<{ readonly key: Key }>[] | undefined
}

export interface EntityReplace extends EntityInsert {
  /** Version that was read. The replacement takes place only if the row still has it. */
  readonly base: number
}

export interface EntitySwap extends EntityReplace {
  /** Body that the row has to have as well, null for a tombstone. Undefined: the version alone is compared. */
  readonly baseBody?: Uint8Array | null | undefined
}

/** An entity of a batch that is not written, and has to be as it was read. */
export interface EntityHold {
  readonly id: Uint8Array
  /** Version that was read, of an entity or a tombstone. */
  readonly base: number
  readonly version?: undefined
}

/** An entity of a batch. With `base` 0 it is inserted, and there must be no row under its id. */
export type BatchRow = EntityReplace | EntityHold

/** A claim that goes from one entity of a batch to another. */
export interface HandedClaim {
  /** Table of the claims, on the shard of the batch. */
  readonly spec: IndexTableSpec
  readonly key: Key
  /** Id of the entity that holds the claim. */
  readonly from: Uint8Array
  readonly to: ClaimHolder
}

export interface BatchOptions extends EpochWriteOptions {
  /** Handed over in the same transaction. Default: none. */
  readonly claims?: readonly HandedClaim[] | undefined
}

/** `written`, or the places of the rows because of which nothing was written. */
export type BatchOutcome = 'written' | { readonly lost: readonly number[] }

export interface EpochWriteOptions extends CallOptions {
  /** Epoch of the writer. If the shard has another one, nothing is written and the call rejects with `STALE_EPOCH`. */
  readonly epoch: number
}

/** A row as it was copied from another shard. */
export type CopiedRow = Pick<EntityRow, 'id' | 'version' | 'body'>

export interface ReceiveOptions extends EpochWriteOptions {
  /**
   * Time of writing of the copies, in µs since 1970: a floor of this shard that was read before. A later `raiseFloor` returns a time above
   * all of them. A floor that was never raised is the start of 1970, so raise it first: a tombstone of that time is never purged.
   */
  readonly updated: number
  /** A copy that has to be there still; see `KeptCopy`. Default: none. */
  readonly after?: KeptCopy | undefined
}

/** A copy that a shard has received: a row of this id with this time of writing in µs since 1970, or with a later one. */
export interface KeptCopy {
  readonly id: Uint8Array
  readonly updated: number
}

export interface FencedRemoveOptions extends CallOptions {
  /** If given and the shard has another epoch, nothing is deleted and the call rejects with `STALE_EPOCH`. Default: any epoch. */
  readonly epoch?: number | undefined
}

export interface PageOptions extends CallOptions {
  /** Leaves out larger bodies, in bytes. Default: no limit. */
  readonly maxBody?: number | undefined
}

/** A row of a pass over the table, in the order of insertion (`addedId`) or of the last write (`updated`). */
export interface EntityPageRow extends BoundedRow {
  readonly addedId: number
}

/** A place in the order of the last write: that of a row, or with `addedId` 0 before all rows of a time. */
export interface UpdatedPlace {
  /** Microseconds since 1970. */
  readonly updated: number
  readonly addedId: number
}

/** Partitions of a shard's rows, by `addedId` modulo `count`. A row never changes its partition. */
export interface Partitions {
  /** Number of partitions, at most 32. */
  readonly count: number
  /** Numbers of the selected partitions, from 0. */
  readonly some: readonly number[]
}

/** Rows in the order of the last write. */
export interface ChangesRange {
  /** Starts strictly after this place. */
  readonly after: UpdatedPlace
  /** Ends before this time, in µs since 1970. Default: no end. */
  readonly until?: number | undefined
  /** Default: all rows. */
  readonly of?: Partitions | undefined
}

/** A row with a checksum in place of its body. */
export interface EntityChecksum extends Omit<EntityPageRow, 'body'> {
  /** CRC-32 of the body, as in zlib; 0 for a tombstone, whose `bodyBytes` are 0 too. */
  readonly checksum: number
}

/** Bounds of the tombstones that a shard may have purged. They never decrease; both are 0 before the first purge. */
export interface PurgeBounds {
  /** Tombstones updated before this time may be purged, in microseconds since 1970. */
  readonly updated: number
  /** Tombstones below this version may be purged, so an insert needs at least this version. */
  readonly version: number
}

/** Times are in microseconds since 1970 by the database's clock. */
export interface FloorState {
  readonly floor: number
  readonly now: number
  readonly purged: PurgeBounds
  /** Epoch of the catalog. All fields come from one read of one row. */
  readonly epoch: number
}

export interface EntityCounts {
  /** Number of entities without tombstones. */
  readonly entities: number
  readonly tombstones: number
  /** Time of the oldest tombstone in microseconds since 1970; undefined if there is none. */
  readonly oldestTombstone: number | undefined
}

export interface EntityExtent {
  /** Number of rows, tombstones included. */
  readonly rows: number
  /** Greatest `addedId`; 0 for an empty table. */
  readonly lastAddedId: number
}

/**
 * The entities of one shard. Every write call is atomic: if it rejects, it has changed nothing, unless its error has
 * `unknownOutcome`. It is one statement, or one local transaction if rows have `deferred` tables or `local` rows.
 */
export interface EntityTable {
  /** Reads the rows of these ids in their order, with tombstones; undefined for a missing row. Ids may repeat. */
  read(ids: readonly Uint8Array[], options?: CallOptions): Promise<readonly (EntityRow | undefined)[]>
  /** Like `read`, without the bodies of more than `maxBody` bytes. */
  readBounded(
    ids: readonly Uint8Array[],
    maxBody: number,
    options?: CallOptions,
  ): Promise<readonly (BoundedRow | undefined)[]>
  /** Like `read`, with versions only. Cheap, to learn the outcome of a write. */
  readVersions(ids: readonly Uint8Array[], options?: CallOptions): Promise<readonly (number | undefined)[]>
  /** Tells for each of these ids, in order, whether there is an entity. A tombstone does not count. Ids may repeat. */
  exist(ids: readonly Uint8Array[], options?: CallOptions): Promise<readonly boolean[]>
  /**
   * Inserts all rows. Rejects with `ALREADY_EXISTS` and inserts none if there is a row under one of the ids, even a tombstone.
   * Rejects with `STALE_EPOCH` and inserts none if a version is below the bound of purged tombstones. Ids must not repeat.
   */
  insert(rows: readonly EntityInsert[], options: EpochWriteOptions): Promise<void>
  /** Replaces each row by compare-and-swap: true if the row still had its base version, and its base body if one is given. Ids must not repeat. */
  replace(rows: readonly EntitySwap[], options: EpochWriteOptions): Promise<readonly boolean[]>
  /**
   * Writes all rows in one transaction, or none. Writes none if a row does not have its base any more, or if `from` does not hold a claim; the
   * outcome then has the place of each such row, or of the row that should get the claim. Local claims are taken once `claims` are handed
   * over. A batch that is not written leaves no local row and no claim.
   *
   * All written rows get the same time of writing, even if the rows take several statements. Held rows cannot be written by others
   * between this call's check and its commit. Up to 500 rows, whose ids must not repeat. Rejects with `STALE_EPOCH` as `insert` does.
   */
  writeAll(rows: readonly BatchRow[], options: BatchOptions): Promise<BatchOutcome>
  /**
   * Gives this version to the entity's row if its present version is not one of a write (see `isVersion`). Returns whether it did.
   * `updated` becomes the present time, as with a write; the body stays.
   */
  repairVersion(id: Uint8Array, version: number, options?: CallOptions): Promise<boolean>
  /**
   * Reads the next rows after this `addedId` (0 for the first page), with tombstones. A page of fewer rows than `limit` is
   * the last one.
   */
  pageByAdded(after: number, limit: number, options?: PageOptions): Promise<readonly EntityPageRow[]>
  /**
   * Reads the rows updated at or after `since` (µs), with tombstones, the newest first; with `before`, only rows before that place. A
   * page of fewer rows than `limit` is the last one.
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
   * Reads the floor of the shard: every row updated before it is visible, and no later write will be updated before it, except a copy
   * (see `receive`). A crash of the server may undo a floor that another process has just raised.
   */
  floor(options?: CallOptions): Promise<FloorState>
  /**
   * Raises the floor just above the database's time, or above the present floor if the clock is behind it. Rows that are updated more
   * than a second ahead come from a time when the clock was ahead; the floor is raised above them too, or no follower would see
   * them until that time.
   *
   * Waits for writes in flight and delays new ones. The raise is durable when it resolves. Returns the new floor, or a greater one
   * that another process has raised since.
   */
  raiseFloor(options?: CallOptions): Promise<number>
  /**
   * Reads the rows of the range in the order of `updated` and `addedId`, with tombstones. A page of fewer rows than `limit` is the last
   * one. If `until` is a floor, no row will ever come between them, except a copy. Without `until`, writes in flight may still do so.
   */
  pageOfChanges(range: ChangesRange, limit: number, options?: PageOptions): Promise<readonly EntityPageRow[]>
  /** Like `pageOfChanges`, with checksums in place of the bodies. Sends one statement, whatever the lengths of the bodies. */
  pageOfChecksums(
    range: ChangesRange,
    limit: number,
    options?: CallOptions,
  ): Promise<readonly EntityChecksum[]>
  /** Like `read`, with checksums in place of the bodies. */
  checksums(
    ids: readonly Uint8Array[],
    options?: CallOptions,
  ): Promise<readonly (EntityChecksum | undefined)[]>
  /**
   * Writes exact copies of rows: inserts them, or overwrites version, body and time of the row under the id, whatever its version. A row
   * with a later time than the copy stays as it is: it was copied later, and this call has arrived late. An overwritten row keeps its
   * `addedId`; an inserted one gets a new one. Ids must not repeat. Pending rows stay as they are.
   *
   * Rejects with `STALE_EPOCH` and writes nothing if the shard has another epoch, if `updated` is above its floor, as after a crash that
   * has undone a raise, or if the copy `after` is not there. A change of the catalog waits for the call, so no copy of the old epoch is
   * committed after it.
   *
   * Does not compare the versions with the bound of purged tombstones: a copy is a committed state, and brings no deleted entity back. A
   * tombstone that the other shard has purged is not copied, so the bound itself has to be copied by `raisePurged`.
   */
  receive(rows: readonly CopiedRow[], options: ReceiveOptions): Promise<void>
  /**
   * Deletes the rows of these ids, entities as well as tombstones, and returns how many. Rejects with `STALE_EPOCH` and deletes nothing if
   * the shard has another epoch. Pending rows stay. A database may give the `addedId` of a deleted last row to a later one.
   */
  discard(ids: readonly Uint8Array[], options: EpochWriteOptions): Promise<number>
  /**
   * Raises the bounds of the purged tombstones; never lowers them. Waits for inserts in flight; a later insert below the version
   * bound is rejected. The bounds are durable before any delete of `purge`.
   */
  raisePurged(to: PurgeBounds, options: EpochWriteOptions): Promise<void>
  /** Deletes the tombstones of these ids that are within the raised bounds. Returns how many. */
  purge(ids: readonly Uint8Array[], options?: CallOptions): Promise<number>
  /** Returns the place of the last row; 0 if there is none. Reads one row. */
  lastAddedId(options?: CallOptions): Promise<number>
  /** Returns the exact number of rows and the place of the last one. Reads an index and no bodies. */
  extent(options?: CallOptions): Promise<EntityExtent>
  /** Counts the rows of the shard exactly. Slow on a large table: it reads all rows, with their bodies on SQLite. */
  count(options?: CallOptions): Promise<EntityCounts>
}
