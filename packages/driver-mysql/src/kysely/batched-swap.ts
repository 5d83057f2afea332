import { crc32 } from 'node:zlib'
import { idKey, LooseleafError, type EntityReplace } from '@looseleaf/core'
import {
  slot,
  slots,
  toCount,
  toNumber,
  type BatchedSwap,
  type Call,
  type Row,
  type Session,
  type SwapTable,
} from '@looseleaf/driver-kysely'
import { sql, type RawBuilder } from 'kysely'
import { createOwnWrites } from './own-writes.ts'
import { swapWinners } from './swap-winners.ts'

/**
 * Compare-and-swaps of several rows where the database says only how many it has changed. Where that is neither all nor none,
 * the versions are read back; where other processes write the same entities, within one transaction with the swap.
 */
export function batchedSwap({
  shardName,
  session,
  table,
  fence,
  updated,
  readVersions,
}: SwapTable): BatchedSwap {
  const ownWrites = createOwnWrites()

  const unknown = (message: string, cause?: unknown): LooseleafError =>
    new LooseleafError('OUTCOME_UNKNOWN', `${shardName}: ${message}`, { shard: shardName, cause })

  /** Reads back after a swap. Some of its rows are committed by then, unless it is within a transaction. */
  async function readBack<T>(count: number, through: Session, read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (cause) {
      if (through !== session) throw cause
      throw unknown(`some of ${count} entities were written, and it could not be read which.`, cause)
    }
  }

  /** Whether all of these rows are there with the version and the body that they were to have. */
  async function areOwn(rows: readonly EntityReplace[], call: Call): Promise<boolean> {
    const query = session.shape(
      `readSums ${rows.length}`,
      () =>
        sql`SELECT id, version, CRC32(body) AS body_sum FROM ${sql.table(table)} WHERE id IN (${slots(rows.length)})`,
    )
    const ids = rows.map(({ id }) => id)
    const result = await readBack(rows.length, session, () =>
      session.run(query, ids, { ...call, write: false }),
    )
    const found = new Map(result.rows.map((row) => [idKey(row.id as Uint8Array), row]))
    return rows.every(({ id, version, body }) => {
      const row = found.get(idKey(id))
      return row !== undefined && toNumber(row.version) === version && sumOf(row) === (body && crc32(body))
    })
  }

  return {
    async send(rows, fenceParameters, call, outer) {
      const isLong = rows.some(({ body }) => body !== null && body.length > 65_535)
      const query = session.shape(`replace ${rows.length} ${isLong}`, () =>
        swapStatement(rows.length, isLong, { table, fence, updated }),
      )
      const parameters = rows.flatMap<unknown>(({ id, base, version, body }) => [id, base, version, body])
      parameters.push(...fenceParameters)

      const swap = async (through: Session): Promise<readonly boolean[] | undefined> => {
        const result = await through.run(query, parameters, call)
        const changed = toCount(result.numAffectedRows)
        if (changed === rows.length || changed === 0) return rows.map(() => changed > 0)
        const ids = rows.map(({ id }) => id)
        const versions = await readBack(rows.length, through, () =>
          readVersions(ids, { ...call, write: false }, through),
        )
        const tries = rows.map((row, i) => ({ version: row.version, found: versions[i] ?? 0 }))
        const winners = swapWinners(tries, changed)
        // Two processes may, though hardly ever, choose one version for one entity, and its body tells them apart. Only
        // where a row was replaced again can the numbers agree all the same; within a transaction none is.
        const mayBeTaken = through === session && tries.some(({ version, found }) => found > version)
        if (winners === undefined || !mayBeTaken) return winners
        const own = rows.filter(({ version }, i) => versions[i] === version)
        return (await areOwn(own, call)) ? winners : undefined
      }
      // Where other processes write the same entities, the transaction keeps their writes from coming between
      // the swap and the reading back. Elsewhere it would only cost round trips and hold locks for longer.
      const careful = outer === session && ownWrites.areContested(rows)
      const won = careful ? await session.transaction(call, swap) : await swap(outer)
      if (won !== undefined) return won
      throw unknown(
        `other writers were so quick to replace these entities again that it cannot be told which of the ${rows.length} writes came first.`,
      )
    },
    inserted: (rows) => ownWrites.inserted(rows),
    replaced: (rows) => ownWrites.won(rows),
  }
}

/** Null for a tombstone. */
function sumOf({ body_sum: sum }: Row): number | null {
  return sum === null ? null : toNumber(sum)
}

/**
 * The rows as a derived table that drives the join, so that each entity is found by its unique key. The casts say what
 * the parameters of a prepared statement are, which has no values yet when the types of the derived table are decided.
 * MySQL decides on 65,535 bytes for a body, and cuts what is longer where it is not strict, unless it may be something
 * longer; MariaDB would put the derived table on disk for that.
 *
 * Parameters: of each row id, base, version, body; then those of the fence. `isLong`: one of the bodies has more than 65,535
 * bytes.
 */
export function swapStatement(
  count: number,
  isLong: boolean,
  { table, fence, updated }: Pick<SwapTable, 'table' | 'fence' | 'updated'>,
): RawBuilder<unknown> {
  const cast = sql`CAST(${slot} AS BINARY)`
  const body = isLong ? sql`IFNULL(${cast}, CAST(NULL AS BINARY(16777215)))` : cast
  const row = sql`
      SELECT CAST(${slot} AS BINARY(16)) AS id, CAST(${slot} AS UNSIGNED) AS base,
        CAST(${slot} AS UNSIGNED) AS version, ${body} AS body`
  return sql`
    UPDATE (${sql.join(
      Array.from({ length: count }, () => row),
      sql` UNION ALL`,
    )}
    ) n STRAIGHT_JOIN ${sql.table(table)} e ON e.id = n.id AND e.version = n.base
    SET e.version = n.version, e.body = n.body, e.updated = ${updated}
    WHERE ${fence}`
}
