import { LooseleafError } from '@looseleaf/core'
import type { EntityReplace } from '@looseleaf/core/internal'
import {
  parameter,
  toCount,
  type BatchedSwap,
  type Call,
  type Session,
  type SwapTable,
} from '@looseleaf/driver-kysely/internal'
import { sql, type RawBuilder } from 'kysely'

/** Largest number of rows of a statement that names its winners. Each row is a bit of a number, which mysql2 reads exactly up to 2^53. */
export const MAX_NAMED = 53

/**
 * Creates the compare-and-swap of several rows for servers that return the number of changed rows, and not the rows.
 *
 * Up to `MAX_NAMED` rows: the answer names the winners, as a number with a bit per row.
 *
 * More rows: a transaction swaps the rows, and reads the versions if only some won. A row won if its version is the new one. The
 * transaction keeps the winners locked until its COMMIT. Without it:
 * 1. The swap replaces entity E, and commits.
 * 2. Another writer replaces E again.
 * 3. The read finds the other version, and the caller is told that it lost although its write was committed.
 */
export function batchedSwap({
  shardName,
  session,
  table,
  fence,
  updated,
  readVersions,
}: SwapTable): BatchedSwap {
  const fail = (code: 'OUTCOME_UNKNOWN' | 'SHARD_BUSY', message: string): LooseleafError =>
    new LooseleafError(code, `${shardName}: ${message}`, { shard: shardName, undone: code === 'SHARD_BUSY' })

  /** Returns the outcome if all rows won or none did; undefined otherwise. */
  const uniformOutcome = (count: number, changed: number): readonly boolean[] | undefined =>
    changed === 0 || changed === count ? Array.from({ length: count }, () => changed > 0) : undefined

  async function swapNamed(
    rows: readonly EntityReplace[],
    fenceParameters: readonly unknown[],
    call: Call,
    through: Session,
  ): Promise<readonly boolean[]> {
    const { numAffectedRows, insertId = 0n } = await send(rows, true, fenceParameters, call, through)
    const changed = toCount(numAffectedRows)
    const won =
      uniformOutcome(rows.length, changed) ??
      rows.map((_, place) => ((insertId >> BigInt(place)) & 1n) === 1n)
    if (won.filter(Boolean).length === changed) return won
    const message = `${changed} of ${rows.length} entities were written, and the answer does not name them; does a proxy change answers?`
    throw fail('OUTCOME_UNKNOWN', message)
  }

  async function swapAndReadBack(
    rows: readonly EntityReplace[],
    fenceParameters: readonly unknown[],
    call: Call,
    through: Session,
  ): Promise<readonly boolean[]> {
    const { numAffectedRows } = await send(rows, false, fenceParameters, call, through)
    const changed = toCount(numAffectedRows)
    const outcome = uniformOutcome(rows.length, changed)
    if (outcome !== undefined) return outcome
    const ids = rows.map(({ id }) => id)
    const versions = await readVersions(ids, { ...call, write: false }, through)
    const won = rows.map(({ version }, i) => versions[i] === version)
    if (won.filter(Boolean).length === changed) return won
    // This error rolls the transaction back.
    throw fail(
      'SHARD_BUSY',
      'another process has given one of these entities the same version; nothing was done.',
    )
  }

  function send(
    rows: readonly EntityReplace[],
    namesWinners: boolean,
    fenceParameters: readonly unknown[],
    call: Call,
    through: Session,
  ): ReturnType<Session['run']> {
    const isLong = rows.some(({ body }) => body !== null && body.length > 65_535)
    const query = session.shape(`replace ${rows.length} ${isLong}`, () =>
      swapStatement(rows.length, { isLong, namesWinners }, { table, fence, updated }),
    )
    const parameters = rows.flatMap<unknown>(({ id, base, version, body }) => [id, base, version, body])
    return through.run(query, [...parameters, ...fenceParameters], call)
  }

  return {
    async send(rows, fenceParameters, call, outer) {
      if (rows.length <= MAX_NAMED) return swapNamed(rows, fenceParameters, call, outer)
      const work = (through: Session): Promise<readonly boolean[]> =>
        swapAndReadBack(rows, fenceParameters, call, through)
      return outer === session ? session.transaction(call, work) : work(outer)
    },
  }
}

/**
 * Builds the swap. Parameters: id, base, version and body of each row, then those of the fence.
 *
 * - The rows are a derived table that drives the join. `FORCE INDEX (id)` locks entities in the order of their ids; the server would
 *   scan a small table otherwise, and lock its rows in the order of insertion.
 * - The casts type the parameters, since a prepared statement has no values when the server types the derived table.
 * - `isLong`: a body has more than 65,535 bytes. MySQL types a body with that length, and truncates longer ones outside strict mode. A
 *   NULL of a longer type in IFNULL prevents that, but makes MariaDB put the derived table on disk.
 * - `namesWinners`: LAST_INSERT_ID(value) stores a value for the session, and the answer carries the last one. It is set to 0 before
 *   the first row, and each changed row adds its bit.
 */
export function swapStatement(
  count: number,
  { isLong, namesWinners }: { readonly isLong: boolean; readonly namesWinners: boolean },
  { table, fence, updated }: Pick<SwapTable, 'table' | 'fence' | 'updated'>,
): RawBuilder<unknown> {
  const cast = sql`CAST(${parameter} AS BINARY)`
  const body = isLong ? sql`IFNULL(${cast}, CAST(NULL AS BINARY(16777215)))` : cast
  const bit = (place: number): RawBuilder<unknown> => {
    const value = sql.lit(2 ** place)
    return namesWinners ? sql`, ${place === 0 ? sql`LAST_INSERT_ID(0) + ${value}` : value} AS bit` : sql``
  }
  const rows = Array.from(
    { length: count },
    (_, place) => sql`
      SELECT CAST(${parameter} AS BINARY(16)) AS id, CAST(${parameter} AS UNSIGNED) AS base,
        CAST(${parameter} AS UNSIGNED) AS version, ${body} AS body${bit(place)}`,
  )
  const version = namesWinners
    ? sql`n.version + 0 * LAST_INSERT_ID(LAST_INSERT_ID() | n.bit)`
    : sql`n.version`
  return sql`
    UPDATE (${sql.join(rows, sql` UNION ALL`)}
    ) n STRAIGHT_JOIN ${sql.table(table)} e FORCE INDEX (id) ON e.id = n.id AND e.version = n.base
    SET e.version = ${version}, e.body = n.body, e.updated = ${updated}
    WHERE ${fence}`
}
