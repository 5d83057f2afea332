import { LooseleafError } from '@looseleaf/core'
import { chunks } from '@looseleaf/core/internal'
import {
  parameter,
  parameterList,
  sumOf,
  sumOfBody,
  toCount,
  type BatchedSwap,
  type Row,
  type SwapTable,
} from '@looseleaf/driver-kysely/internal'
import { sql, type QueryResult, type RawBuilder } from 'kysely'
import { checksumOf } from './checksum-of.ts'

/** Largest number of rows of a statement that names its winners. Each row is a bit of a number, which mysql2 reads exactly up to 2^53. */
export const MAX_NAMED = 53

/**
 * Creates the compare-and-swap of several rows for servers that return the number of changed rows, and not the rows. The answer to each
 * statement names its winners, as a number with a bit per row. More rows than `MAX_NAMED` are several statements in one transaction.
 */
export function batchedSwap({ shardName, session, table, epochFence, updated }: SwapTable): BatchedSwap {
  function wonBy({ numAffectedRows, insertId = 0n }: QueryResult<Row>, count: number): readonly boolean[] {
    const changed = toCount(numAffectedRows)
    if (changed === 0 || changed === count) return Array.from({ length: count }, () => changed > 0)
    const won = Array.from({ length: count }, (_, place) => ((insertId >> BigInt(place)) & 1n) === 1n)
    if (won.filter(Boolean).length === changed) return won
    throw new LooseleafError(
      'OUTCOME_UNKNOWN',
      `${shardName}: ${changed} of ${count} entities were written, and the answer does not name them; does a proxy change answers?`,
      { shard: shardName },
    )
  }

  return {
    statements: (rows, fenceParameters) =>
      Array.from(chunks(rows, MAX_NAMED), (chunk) => {
        const isLong = chunk.some(({ body }) => body !== null && body.length > 65_535)
        const comparesBodies = chunk.some(({ baseBody }) => baseBody !== undefined)
        const query = session.shape(`replace ${chunk.length} ${isLong} ${comparesBodies}`, () =>
          swapStatement(chunk.length, { isLong, comparesBodies }, { table, epochFence, updated }),
        )
        const parameters: unknown[] = []
        for (const { id, base, baseBody, version, body } of chunk) {
          parameters.push(id, base, version, body)
          if (comparesBodies) parameters.push(baseBody === undefined ? null : sumOfBody(baseBody))
        }
        return { query, parameters: [...parameters, ...fenceParameters, ...chunk.map(({ id }) => id)] }
      }),
    won: (rows, results) =>
      Array.from(chunks(rows, MAX_NAMED), (chunk, i) => wonBy(results[i]!, chunk.length)).flat(),
  }
}

/**
 * Builds the swap. Parameters: id, base, version and body of each row, with `comparesBodies` the checksum of its base body as well (NULL if that is
 * not compared), then those of `epochFence`, then the ids again.
 *
 * - The list of ids drives the join, so the server changes each entity when it reads it. If the new rows drove it, the server would write them
 *   into a second temporary table, which takes a sixth of its time. `FORCE INDEX (id)` locks entities in the order of their ids; the server
 *   would scan a small table otherwise, and lock its rows in the order of insertion.
 * - The new rows are a derived table.
 * - The casts type the parameters, since a prepared statement has no values when the server types the derived table.
 * - `isLong`: a body has more than 65,535 bytes. MySQL types a body with that length, and truncates longer ones outside strict mode. A
 *   NULL of a longer type in IFNULL prevents that, but makes MariaDB put the derived table on disk.
 * - LAST_INSERT_ID(value) stores a value for the session, and the answer carries the last one. It is set to 0 before
 *   the first row, and each changed row adds its bit.
 */
export function swapStatement(
  count: number,
  { isLong, comparesBodies }: { readonly isLong: boolean; readonly comparesBodies: boolean },
  { table, epochFence, updated }: Pick<SwapTable, 'table' | 'epochFence' | 'updated'>,
): RawBuilder<unknown> {
  const cast = sql`CAST(${parameter} AS BINARY)`
  const body = isLong ? sql`IFNULL(${cast}, CAST(NULL AS BINARY(16777215)))` : cast
  const baseSum = comparesBodies ? sql`, CAST(${parameter} AS SIGNED) AS base_sum` : sql``
  const hasBody = comparesBodies
    ? sql` AND (n.base_sum IS NULL OR ${sumOf({ checksumOf }, sql.ref('e.body'))} = n.base_sum)`
    : sql``
  const bit = (place: number): RawBuilder<unknown> => {
    const value = sql.lit(2 ** place)
    return sql`, ${place === 0 ? sql`LAST_INSERT_ID(0) + ${value}` : value} AS bit`
  }
  const rows = Array.from(
    { length: count },
    (_, place) => sql`
      SELECT CAST(${parameter} AS BINARY(16)) AS id, CAST(${parameter} AS UNSIGNED) AS base,
        CAST(${parameter} AS UNSIGNED) AS version, ${body} AS body${baseSum}${bit(place)}`,
  )
  const version = sql`n.version + 0 * LAST_INSERT_ID(LAST_INSERT_ID() | n.bit)`
  return sql`
    UPDATE ${sql.table(table)} e FORCE INDEX (id) STRAIGHT_JOIN (${sql.join(rows, sql` UNION ALL`)}
    ) n ON e.id = n.id AND e.version = n.base${hasBody}
    SET e.version = ${version}, e.body = n.body, e.updated = ${updated}
    WHERE ${epochFence} AND e.id IN (${parameterList(count)})`
}
