import { MAX_CLOCK_MICROS, MAX_VERSION } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import { hasEpoch } from '../database/epoch-fence.ts'
import { sumOf, type Flavor } from '../database/flavor.ts'
import { FLOOR_COLUMN, PURGED_UPDATED_COLUMN, PURGED_VERSION_COLUMN } from '../schema/schema.ts'
import { META_TABLE } from '../database/table-names.ts'
import { and, parameter, parameterList } from '../database/sql-parts.ts'
import { boundedBody } from './bounded-rows.ts'
import { rangeText, type RangeParts } from './changes-range.ts'

/**
 * The statements of an entity table, without batched compare-and-swaps, which belong to the flavor. Each docstring lists the
 * parameters in their order.
 *
 * Statements that find entities by their ids check their session: they are prepared, and behind a pooler the number of a prepared
 * statement may belong to another statement of another session.
 */
export interface EntityStatements {
  /**
   * Condition of `replaceOne` and of batched compare-and-swaps: the shard has the writer's epoch. With another one the statement fails, or
   * changes nothing. Parameters: the epoch, then those of `ownSession`.
   */
  readonly epochFence: RawBuilder<boolean>
  /** Parameters: those of `ownSession`, then ids. */
  read(count: number): RawBuilder<unknown>
  /** Selects what `read` does, with zero bytes for a body that is too long. Parameters: the longest body in bytes, then those of `read`. */
  readBounded(count: number): RawBuilder<unknown>
  /** Parameters: those of `read`. */
  bodyLengths(count: number): RawBuilder<unknown>
  /** Parameters: those of `read`. */
  readVersions(count: number): RawBuilder<unknown>
  /** Selects the ids that have a body. Parameters: those of `read`. */
  exist(count: number): RawBuilder<unknown>
  /** New value of `updated`: the database's time, or the floor if that is later. */
  readonly updated: RawBuilder<unknown>
  /**
   * With `readsFloor`, each row reads the floor for its time, which makes an insert of many rows 50 % slower. Without it the rows
   * get the database's time, and the insert fails with `fence-refused`, as for a stale epoch, if the floor is ahead of that time.
   * Parameters: the first row's id, those of `ownSession`, its version, the epoch, the lowest version of all rows, its body; then
   * id, version and body of each other row.
   */
  insert(count: number, readsFloor: boolean): RawBuilder<unknown>
  /**
   * With `comparesBody` it compares the body as well. Parameters: version, body, id, base, the CRC-32 of the body to compare (`NO_BODY` for a
   * tombstone), epoch, those of `ownSession`.
   */
  replaceOne(comparesBody: boolean): RawBuilder<unknown>
  /** Selects and locks the versions of rows, in the order of their ids. Parameters: those of `read`. */
  lock(count: number): RawBuilder<unknown>
  /** Like `lock`, in share mode. */
  hold(count: number): RawBuilder<unknown>
  /**
   * Inserts rows, and overwrites stored ones that have their bases, all at one time. Fails with `fence-refused` if a row has another version,
   * if fewer than `overwritten` of them are there, or as `insert` does. Parameters: those of `insert` up to the lowest version, the ids of the
   * rows to overwrite, the other parameters of `insert`, then id and base of each row to overwrite.
   */
  swapAll(count: number, overwritten: number): RawBuilder<unknown>
  /**
   * Locks the catalog row in share mode, and selects the time of writing in µs. No row if the epoch differs, or if a purged tombstone may
   * have had the version. Parameters: those of `ownSession`, the epoch, the version.
   */
  timeOfBatch(): RawBuilder<unknown>
  /**
   * Inserts rows with a given time, within the transaction of `timeOfBatch`. Parameters: the first row's id, those of `ownSession`, its
   * version, time in µs and body; then id, version, time and body of each other row.
   */
  insertOfBatch(count: number): RawBuilder<unknown>
  /**
   * Overwrites rows that the transaction has locked, and keeps their `added_id`. The server numbers the rows before it finds the stored
   * ones, so the next numbers are skipped. Parameters: those of `insertOfBatch`.
   */
  overwriteOfBatch(count: number): RawBuilder<unknown>
  /** Parameters: version, id. */
  repairVersion(): RawBuilder<unknown>
  /** Bodies as in `readBounded`. Parameters: the longest body in bytes, the `addedId` to start after, the limit. */
  pageByAdded(): RawBuilder<unknown>
  /**
   * Bodies as in `readBounded`. Parameters: the longest body in bytes, `since`; with a place `updated` three times and `addedId`;
   * the limit.
   */
  pageByUpdated(withPlace: boolean): RawBuilder<unknown>
  /** Bodies as in `readBounded`. Parameters: the longest body in bytes, those of the range, the limit. */
  pageOfChanges(parts: RangeParts): RawBuilder<unknown>
  /** Selects checksums and lengths in place of the bodies. Parameters: those of the range, the limit. */
  pageOfChecksums(parts: RangeParts): RawBuilder<unknown>
  /** Parameters: those of `read`. */
  checksums(count: number): RawBuilder<unknown>
  /**
   * With `isAfter` it needs an earlier copy. Parameters: the first row's id, those of `ownSession`, its version, the epoch, `updated`, id and
   * time of the earlier copy, `updated` again and its body; then id, version, `updated` and body of each other row.
   */
  receive(count: number, isAfter: boolean): RawBuilder<unknown>
  /** Parameters: those of `read`, the epoch. */
  discard(count: number): RawBuilder<unknown>
  floor(): RawBuilder<unknown>
  /** Selects `newest` as well: the latest `updated` of the table, null in an empty one. No parameters. */
  floorAndNewest(): RawBuilder<unknown>
  /**
   * Raises the floor above the clock and its old value; with `aboveRows` above a given time too, which may be ahead of the clock.
   * Changes nothing if the clock is beyond `MAX_CLOCK_MICROS`. Parameters: the given time.
   */
  raiseFloor(aboveRows: boolean): RawBuilder<unknown>
  /** Parameters: the time, the version, the epoch. */
  raisePurged(): RawBuilder<unknown>
  /** Parameters: those of `read`. */
  purge(count: number): RawBuilder<unknown>
  lastAddedId(): RawBuilder<unknown>
  /** Reads the smallest index, which has the `added_id` too: neither database reads the bodies then. */
  extent(): RawBuilder<unknown>
  count(): RawBuilder<unknown>
}

const FLOOR = sql.ref(FLOOR_COLUMN)
const PURGED_UPDATED = sql.ref(PURGED_UPDATED_COLUMN)
const PURGED_VERSION = sql.ref(PURGED_VERSION_COLUMN)

export function entityStatements(name: string, flavor: Flavor): EntityStatements {
  const table = sql.table(name)
  const meta = sql.table(META_TABLE)
  const sessionCheck = flavor.ownSession.only(sql`1`)
  // The session check stands first: a server that finds no row with these ids would not evaluate a later one.
  const ofIds = (count: number): RawBuilder<unknown> =>
    sql`${sessionCheck} AND id IN (${parameterList(count)})`
  // Fails for another epoch, so that the whole transaction is undone, where the database evaluates it: not for rows that are all missing.
  const epochFence = sql<boolean>`${flavor.required(sql`CASE WHEN ${hasEpoch(flavor)} THEN 1 END`)} = 1 AND ${sessionCheck}`
  // A locking read, as of the epoch: a raise of the floor waits for this statement's commit, and this statement for that of a raise.
  const updated = sql`(SELECT ${sql.raw(flavor.greatest)}(${flavor.now}, ${FLOOR}) FROM ${meta} WHERE id = 1 ${flavor.shareLock})`
  const floorState = sql`${flavor.microsOf(FLOOR)} AS floor, ${flavor.nowMicros} AS now, epoch, ${PURGED_UPDATED}, ${PURGED_VERSION}`
  const updatedMicros = flavor.microsOf(sql.ref('updated'))
  const bodyUnlessLong = sql`${boundedBody(sql.ref('body'))} AS body`
  const checksumColumns = (): RawBuilder<unknown> =>
    sql`added_id, id, version, ${updatedMicros} AS updated_micros, LENGTH(body) AS body_bytes, ${flavor.checksumOf(sql.ref('body'))} AS checksum`
  const micros = flavor.updatedOf(parameter)
  // `version` is that of the first row.
  const insertAt = (
    count: number,
    version: RawBuilder<unknown>,
    time: RawBuilder<unknown> = micros,
  ): RawBuilder<unknown> => {
    const otherRows = Array.from(
      { length: count - 1 },
      () => sql`, (${parameter}, ${parameter}, ${time}, ${parameter})`,
    )
    return sql`
        INSERT INTO ${table} (id, version, updated, body)
        VALUES (${parameter}, ${version}, ${time}, ${parameter})${sql.join(otherRows, sql``)}`
  }
  const fencedVersion = (condition: RawBuilder<unknown>): RawBuilder<unknown> => {
    const version = sql`(SELECT ${flavor.integer(parameter)} FROM ${meta} WHERE id = 1 AND epoch = ${parameter} AND ${PURGED_VERSION} <= ${parameter} ${condition} ${flavor.shareLock})`
    return flavor.ownSession.only(flavor.required(version))
  }
  const overwriteAt = (
    count: number,
    version: RawBuilder<unknown>,
    overwritten: (column: string) => RawBuilder<unknown> = (column) => flavor.incoming(column),
  ): RawBuilder<unknown> => {
    const assignments = ['version', 'updated', 'body'].map(
      (column) => sql`${sql.ref(column)} = ${overwritten(column)}`,
    )
    return sql`${insertAt(count, version)} ${flavor.onDuplicate(['id'])} ${sql.join(assignments)}`
  }
  const stored = (column: string): RawBuilder<unknown> => sql.ref(`${name}.${column}`)
  const unlessEarlier = (column: string): RawBuilder<unknown> =>
    sql`CASE WHEN ${flavor.incoming('updated')} >= ${stored('updated')} THEN ${flavor.incoming(column)} ELSE ${stored(column)} END`
  // The hint of an UPDATE fits a SELECT as well.
  const locking = (count: number, lock: RawBuilder<unknown>): RawBuilder<unknown> => sql`
      SELECT id, version FROM ${flavor.updateSource(table, 'id')} WHERE ${ofIds(count)} ${lock}`

  return {
    epochFence,
    updated,

    read: (count) => sql`
      SELECT id, version, ${updatedMicros} AS updated_micros, body FROM ${table} WHERE ${ofIds(count)}`,

    readBounded: (count) => sql`
      SELECT id, version, ${updatedMicros} AS updated_micros, ${bodyUnlessLong}
      FROM ${table} WHERE ${ofIds(count)}`,

    bodyLengths: (count) => sql`
      SELECT id, LENGTH(body) AS body_bytes FROM ${table} WHERE ${ofIds(count)}`,

    readVersions: (count) => sql`
      SELECT id, version FROM ${table} WHERE ${ofIds(count)}`,

    exist: (count) => sql`
      SELECT id FROM ${table} WHERE ${ofIds(count)} AND body IS NOT NULL`,

    // 1. The first row takes its version from a SELECT on the catalog row, which it locks in share mode.
    // 2. If the epoch differs, or a purged tombstone may have had one of the versions, the SELECT is empty, its value NULL, and the
    //    whole statement fails.
    // 3. The lock lasts until the insert commits. A change of the catalog waits for it, so no insert of the old epoch commits after it.
    //    Without the lock: the insert reads epoch 1, the catalog gets epoch 2 with a new index, the index is filled, and the insert
    //    commits without a row in it.
    insert: (count, readsFloor) => {
      const isTimely = readsFloor ? sql`` : sql`AND ${FLOOR} <= ${flavor.now}`
      return insertAt(count, fencedVersion(isTimely), readsFloor ? updated : flavor.now)
    },

    replaceOne: (comparesBody) => sql`
      UPDATE ${flavor.updateSource(table, 'id')} SET version = ${parameter}, body = ${parameter}, updated = ${updated}
      WHERE id = ${parameter} AND version = ${parameter}${comparesBody ? sql` AND ${sumOf(flavor, sql.ref('body'))} = ${parameter}` : sql``} AND ${epochFence}`,

    lock: (count) => locking(count, flavor.exclusiveLock),

    hold: (count) => locking(count, flavor.shareLock),

    // `version` stands first: MySQL assigns columns one after the other, and this one compares the stored version.
    // The LIMIT makes a table of its own of the inner SELECT: MySQL and MariaDB refuse one that reads the table of the INSERT. It locks
    // nothing. A tombstone that is purged behind it is inserted again, which is right: neither has index rows.
    swapAll: (count, overwritten) => {
      const ids = sql`SELECT id FROM ${table} WHERE id IN (${parameterList(overwritten)}) LIMIT ${sql.lit(overwritten)}`
      const areStored = sql`AND (SELECT COUNT(*) FROM (${ids}) AS found_ids) = ${sql.lit(overwritten)}`
      const bases = Array.from({ length: overwritten }, () => sql`WHEN ${parameter} THEN ${parameter}`)
      const hasBase = sql`${stored('version')} = CASE ${stored('id')} ${sql.join(bases, sql` `)} END`
      return sql`${insertAt(count, fencedVersion(areStored), updated)} ${flavor.onDuplicate(['id'])}
        version = ${flavor.required(sql`CASE WHEN ${hasBase} THEN ${flavor.incoming('version')} END`)},
        updated = ${flavor.incoming('updated')}, body = ${flavor.incoming('body')}`
    },

    timeOfBatch: () => sql`
      SELECT ${flavor.ownSession.only(flavor.microsOf(sql`${sql.raw(flavor.greatest)}(${flavor.now}, ${FLOOR})`))} AS micros
      FROM ${meta} WHERE id = 1 AND epoch = ${parameter} AND ${PURGED_VERSION} <= ${parameter} ${flavor.shareLock}`,

    insertOfBatch: (count) => insertAt(count, flavor.ownSession.only(flavor.integer(parameter))),

    overwriteOfBatch: (count) => overwriteAt(count, flavor.ownSession.only(flavor.integer(parameter))),

    repairVersion: () => sql`
      UPDATE ${table} SET version = ${parameter}, updated = ${updated}
      WHERE id = ${parameter} AND (version < 1 OR version > ${sql.lit(MAX_VERSION)})`,

    pageByAdded: () => sql`
      SELECT added_id, id, version, ${updatedMicros} AS updated_micros, ${bodyUnlessLong} FROM ${table}
      WHERE added_id > ${parameter} ORDER BY added_id LIMIT ${parameter}`,

    pageByUpdated: (withPlace) => {
      const conditions = [sql`updated >= ${micros}`]
      if (withPlace) {
        conditions.push(
          sql`updated <= ${micros} AND (updated < ${micros} OR (updated = ${micros} AND added_id < ${parameter}))`,
        )
      }
      return sql`
        SELECT added_id, id, version, ${updatedMicros} AS updated_micros, ${bodyUnlessLong} FROM ${table}
        WHERE ${and(conditions)} ORDER BY updated DESC, added_id DESC LIMIT ${parameter}`
    },

    pageOfChanges: (parts) => sql`
      SELECT added_id, id, version, ${updatedMicros} AS updated_micros, ${bodyUnlessLong} FROM ${table} ${rangeText(flavor, parts)}`,

    pageOfChecksums: (parts) => sql`SELECT ${checksumColumns()} FROM ${table} ${rangeText(flavor, parts)}`,

    checksums: (count) => sql`SELECT ${checksumColumns()} FROM ${table} WHERE ${ofIds(count)}`,

    // Fenced as an insert is, and by the floor as well. One time for all rows of a pass of copies. A row of
    // a later time is a copy of a later pass, and this one arrives late. The LIMIT is that of `swapAll`.
    receive: (count, isAfter) => {
      const earlier = sql`SELECT id FROM ${table} WHERE id = ${parameter} AND updated >= ${micros} LIMIT 1`
      const isThere = isAfter ? sql`AND (SELECT COUNT(*) FROM (${earlier}) AS earlier) = 1` : sql``
      const version = sql`(SELECT ${flavor.integer(parameter)} FROM ${meta} WHERE id = 1 AND epoch = ${parameter} AND ${FLOOR} >= ${micros} ${isThere} ${flavor.shareLock})`
      return overwriteAt(count, flavor.ownSession.only(flavor.required(version)), unlessEarlier)
    },

    // No version is negative. Without a column outside the key, MySQL scans a small table despite the hint, and locks it in another order.
    discard: (count) => sql`
      DELETE ${flavor.deleteSource(table, 'id')} WHERE ${ofIds(count)} AND version >= 0 AND ${hasEpoch(flavor)}`,

    floor: () => sql`SELECT ${floorState} FROM ${meta} WHERE id = 1`,

    floorAndNewest: () => sql`
      SELECT ${floorState}, (SELECT ${flavor.microsOf(sql`MAX(updated)`)} FROM ${table}) AS newest FROM ${meta} WHERE id = 1`,

    // `next` puts rows of this instant below the floor. It also makes each raise a change, since a commit without changes is not
    // written to disk. The lock wait is brief because writers queue behind it.
    raiseFloor: (aboveRows) => {
      const above = aboveRows ? sql`, ${flavor.updatedOf(parameter)}` : sql``
      const greatest = sql`${sql.raw(flavor.greatest)}(${flavor.now}, ${FLOOR}${above})`
      return flavor.briefly(
        sql`UPDATE ${meta} SET ${FLOOR} = ${flavor.next(greatest)} WHERE id = 1 AND ${flavor.nowMicros} <= ${sql.lit(MAX_CLOCK_MICROS)}`,
      )
    },

    // The update locks the catalog row, as a raise of the floor does: inserts that begin after it read the new bound.
    raisePurged: () => {
      const raised = (bound: RawBuilder<unknown>): RawBuilder<unknown> =>
        sql`${bound} = ${sql.raw(flavor.greatest)}(${bound}, ${parameter})`
      return flavor.briefly(
        sql`UPDATE ${meta} SET ${raised(PURGED_UPDATED)}, ${raised(PURGED_VERSION)} WHERE id = 1 AND epoch = ${parameter}`,
      )
    },

    // Compares with the bounds in the catalog row, because inserts check those. A tombstone above them must stay:
    // 1. The purge deletes the tombstone of version 9 while the stored bound is 5.
    // 2. A late insert of the entity, with version 7, passes the check and brings the deleted entity back.
    purge: (count) => sql`
      DELETE ${flavor.deleteSource(table, 'id')} WHERE ${ofIds(count)} AND body IS NULL
      AND ${updatedMicros} < (SELECT ${PURGED_UPDATED} FROM ${meta} WHERE id = 1)
      AND version < (SELECT ${PURGED_VERSION} FROM ${meta} WHERE id = 1)`,

    lastAddedId: () => sql`SELECT MAX(added_id) AS last_added_id FROM ${table}`,
    extent: () => sql`SELECT COUNT(*) AS total, MAX(added_id) AS last_added_id FROM ${table}`,

    count: () => sql`
      SELECT COUNT(*) AS total, COUNT(body) AS entities,
      ${flavor.microsOf(sql`MIN(CASE WHEN body IS NULL THEN updated END)`)} AS oldest_tombstone FROM ${table}`,
  }
}
