import { MAX_CLOCK_MICROS, MAX_VERSION } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from './flavor.ts'
import { FLOOR_COLUMN, META_TABLE, PURGED_UPDATED_COLUMN, PURGED_VERSION_COLUMN } from './schema.ts'
import { and, slot, slots } from './sql-parts.ts'

/** The statements of an entity table, but for batched compare-and-swaps, which are the flavor's. Parameters stand in the order in which they appear. */
export interface EntityStatements {
  /** Of every replacement: true while the writer's epoch is the shard's. Parameters: the epoch, then those of `ownSession`. */
  readonly fence: RawBuilder<boolean>
  /*
   * What asks for entities by id holds in its own session alone: such statements are prepared, and in another session the number of
   * one may be that of something else.
   */
  /** Parameters: those of `ownSession`, then ids. */
  read(count: number): RawBuilder<unknown>
  /** As `read`, with no bytes in place of a body that is too long. Parameters: the most bytes of a body, then as `read`. */
  readBounded(count: number): RawBuilder<unknown>
  /** Parameters: as of `read`. */
  bodyLengths(count: number): RawBuilder<unknown>
  /** Parameters: as of `read`. */
  readVersions(count: number): RawBuilder<unknown>
  /** Gives the ids that have a body. Parameters: as of `read`. */
  exist(count: number): RawBuilder<unknown>
  /** What a write sets `updated` to: the time, but never below the floor. */
  readonly updated: RawBuilder<unknown>
  /**
   * Parameters: of the first row id, those of `ownSession`, version, epoch, the least version of all rows, body; of each other one id, version, body. To read
   * the floor for each row makes a statement of many a half slower. So one of several rows is refused where the floor is ahead of
   * its time, as is one of another epoch, unless it is `behind`: then each row reads it.
   */
  insert(count: number, behind: boolean): RawBuilder<unknown>
  /** Parameters: version, body, id, base, epoch, those of `ownSession`. */
  replaceOne(): RawBuilder<unknown>
  /** Parameters: version, id. */
  repairVersion(): RawBuilder<unknown>
  /** No parameters. */
  epoch(): RawBuilder<unknown>
  /** Bodies as in `readBounded`. Parameters: the most bytes of a body; the addedId before the first, the limit. */
  pageByAdded(): RawBuilder<unknown>
  /**
   * Bodies as in `readBounded`. Parameters: the most bytes of a body; since; with a place also updated, updated, updated,
   * addedId; the limit.
   */
  pageByUpdated(withPlace: boolean): RawBuilder<unknown>
  /** Bodies as in `readBounded`. Parameters: the most bytes of a body; updated, updated, addedId of the place; until; with partitions their number, and the bits of some; the limit. */
  pageOfChanges(inPartitions: boolean): RawBuilder<unknown>
  /** No parameters. */
  floor(): RawBuilder<unknown>
  /** Gives `newest` beside, the greatest time of writing, which is null where there are no rows. No parameters. */
  floorAndNewest(): RawBuilder<unknown>
  /**
   * Above a time that is ahead of the clock too, if it is `past` one; nothing where the clock is beyond `MAX_CLOCK_MICROS`. Parameters:
   * that time, if so.
   */
  raiseFloor(past: boolean): RawBuilder<unknown>
  /** Parameters: the time and the version, the epoch. */
  raisePurged(): RawBuilder<unknown>
  /** Parameters: as of `read`. */
  purge(count: number): RawBuilder<unknown>
  /** No parameters. */
  count(): RawBuilder<unknown>
}

const FLOOR = sql.ref(FLOOR_COLUMN)
const PURGED_UPDATED = sql.ref(PURGED_UPDATED_COLUMN)
const PURGED_VERSION = sql.ref(PURGED_VERSION_COLUMN)

export function entityStatements(name: string, flavor: Flavor): EntityStatements {
  const table = sql.table(name)
  const meta = sql.table(META_TABLE)
  const inOwnSession = flavor.ownSession.only(sql`1`)
  // The session first: a server that has found no such ids would not look at it.
  const ofIds = (count: number): RawBuilder<unknown> => sql`${inOwnSession} AND id IN (${slots(count)})`
  const fence = sql<boolean>`(SELECT epoch FROM ${meta} WHERE id = 1 ${flavor.shareLock}) = ${slot} AND ${inOwnSession}`
  // By a locking read, as that of the epoch: whoever raises the floor waits for this statement, and this one for a raise.
  const updated = sql`(SELECT ${sql.raw(flavor.greatest)}(${flavor.now}, ${FLOOR}) FROM ${meta} WHERE id = 1 ${flavor.shareLock})`
  const floorState = sql`${flavor.microsOf(FLOOR)} AS floor, ${flavor.nowMicros} AS now, epoch, ${PURGED_UPDATED}, ${PURGED_VERSION}`
  const updatedMicros = flavor.microsOf(sql.ref('updated'))
  // No codec gives no bytes. The length in a column of its own would cost every read a twentieth of its work.
  const boundedBody = sql`CASE WHEN LENGTH(body) > ${slot} THEN X'' ELSE body END AS body`

  return {
    fence,
    updated,

    read: (count) => sql`
      SELECT id, version, ${updatedMicros} AS updated_micros, body FROM ${table} WHERE ${ofIds(count)}`,

    readBounded: (count) => sql`
      SELECT id, version, ${updatedMicros} AS updated_micros, ${boundedBody}
      FROM ${table} WHERE ${ofIds(count)}`,

    bodyLengths: (count) => sql`
      SELECT id, LENGTH(body) AS body_bytes FROM ${table} WHERE ${ofIds(count)}`,

    readVersions: (count) => sql`
      SELECT id, version FROM ${table} WHERE ${ofIds(count)}`,

    exist: (count) => sql`
      SELECT id FROM ${table} WHERE ${ofIds(count)} AND body IS NOT NULL`,

    // The first row gets its version by way of the catalog row. With another epoch there it has none,
    // and the whole statement fails; and so with a version that a purged tombstone may have had. Taking the row in share mode makes a change of the
    // catalog wait for this statement, and this statement for a change.
    insert: (count, behind) => {
      const isTimely = behind ? sql`` : sql`AND ${FLOOR} <= ${flavor.now}`
      const version = sql`(SELECT ${flavor.integer(slot)} FROM ${meta} WHERE id = 1 AND epoch = ${slot} AND ${PURGED_VERSION} <= ${slot} ${isTimely} ${flavor.shareLock})`
      const time = behind ? updated : flavor.now
      const fenced = flavor.ownSession.only(flavor.required(version))
      const others = Array.from({ length: count - 1 }, () => sql`, (${slot}, ${slot}, ${time}, ${slot})`)
      return sql`
        INSERT INTO ${table} (id, version, updated, body)
        VALUES (${slot}, ${fenced}, ${time}, ${slot})${sql.join(others, sql``)}`
    },

    replaceOne: () => sql`
      UPDATE ${flavor.updateSource(table, 'id')} SET version = ${slot}, body = ${slot}, updated = ${updated}
      WHERE id = ${slot} AND version = ${slot} AND ${fence}`,

    repairVersion: () => sql`
      UPDATE ${table} SET version = ${slot}, updated = ${updated}
      WHERE id = ${slot} AND (version < 1 OR version > ${sql.lit(MAX_VERSION)})`,

    epoch: () => sql`SELECT epoch FROM ${meta} WHERE id = 1`,

    pageByAdded: () => sql`
      SELECT added_id, id, version, ${updatedMicros} AS updated_micros, ${boundedBody} FROM ${table}
      WHERE added_id > ${slot} ORDER BY added_id LIMIT ${slot}`,

    pageByUpdated: (withPlace) => {
      const micros = flavor.updatedOf(slot)
      const conditions = [sql`updated >= ${micros}`]
      if (withPlace) {
        conditions.push(
          sql`updated <= ${micros} AND (updated < ${micros} OR (updated = ${micros} AND added_id < ${slot}))`,
        )
      }
      return sql`
        SELECT added_id, id, version, ${updatedMicros} AS updated_micros, ${boundedBody} FROM ${table}
        WHERE ${and(conditions)} ORDER BY updated DESC, added_id DESC LIMIT ${slot}`
    },

    pageOfChanges: (inPartitions) => {
      const micros = flavor.updatedOf(slot)
      // By what the key on `updated` holds too, so that no other rows are read.
      const partitions = inPartitions ? sql` AND (1 << (added_id % ${slot})) & ${slot} <> 0` : sql``
      return sql`
        SELECT added_id, id, version, ${updatedMicros} AS updated_micros, ${boundedBody} FROM ${table}
        WHERE updated >= ${micros} AND (updated > ${micros} OR added_id > ${slot}) AND updated < ${micros}${partitions}
        ORDER BY updated, added_id LIMIT ${slot}`
    },

    floor: () => sql`SELECT ${floorState} FROM ${meta} WHERE id = 1`,

    floorAndNewest: () => sql`
      SELECT ${floorState}, (SELECT ${flavor.microsOf(sql`MAX(updated)`)} FROM ${table}) AS newest FROM ${meta} WHERE id = 1`,

    // Above the time, so that what was written in the same instant is below it; and always a change, since a commit that
    // changes nothing is not written to disk. Briefly, because writers wait behind it.
    raiseFloor: (past) => {
      const above = past ? sql`, ${flavor.updatedOf(slot)}` : sql``
      const greatest = sql`${sql.raw(flavor.greatest)}(${flavor.now}, ${FLOOR}${above})`
      return flavor.briefly(
        sql`UPDATE ${meta} SET ${FLOOR} = ${flavor.next(greatest)} WHERE id = 1 AND ${flavor.nowMicros} <= ${sql.lit(MAX_CLOCK_MICROS)}`,
      )
    },

    // The row is locked, as for a raise of the floor: inserts that begin after it read the new bound.
    raisePurged: () => {
      const raised = (bound: RawBuilder<unknown>): RawBuilder<unknown> =>
        sql`${bound} = ${sql.raw(flavor.greatest)}(${bound}, ${slot})`
      return flavor.briefly(
        sql`UPDATE ${meta} SET ${raised(PURGED_UPDATED)}, ${raised(PURGED_VERSION)} WHERE id = 1 AND epoch = ${slot}`,
      )
    },

    // By the bounds that are stored, so that nothing goes that nobody has been told of.
    purge: (count) => sql`
      DELETE ${flavor.deleteSource(table, 'id')} WHERE ${ofIds(count)} AND body IS NULL
      AND ${updatedMicros} < (SELECT ${PURGED_UPDATED} FROM ${meta} WHERE id = 1)
      AND version < (SELECT ${PURGED_VERSION} FROM ${meta} WHERE id = 1)`,

    count: () => sql`
      SELECT COUNT(*) AS total, COUNT(body) AS entities, MAX(added_id) AS last_added_id,
      ${flavor.microsOf(sql`MIN(CASE WHEN body IS NULL THEN updated END)`)} AS oldest_tombstone FROM ${table}`,
  }
}
