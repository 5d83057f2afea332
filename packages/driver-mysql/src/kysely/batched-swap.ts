import { LooseleafError, type EntityReplace } from '@looseleaf/core'
import {
  slot,
  toCount,
  type BatchedSwap,
  type Call,
  type Session,
  type SwapTable,
} from '@looseleaf/driver-kysely'
import { sql, type RawBuilder } from 'kysely'

/** Rows of a statement that names its winners: each is a bit of a number, and mysql2 gives whole numbers up to 2^53 exactly. */
export const MAX_NAMED = 53

/**
 * Compare-and-swaps of several rows on servers that count the rows that a statement has changed, and cannot return them.
 *
 * A statement of up to `MAX_NAMED` rows names its winners in its own answer, as a number that has a bit for each. A longer one is a
 * transaction with a read of the versions: its winners stay locked until then, so nobody can replace them in between.
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

  /** All or none, by the number of changed rows; undefined between. */
  const atOnce = (count: number, changed: number): readonly boolean[] | undefined =>
    changed === 0 || changed === count ? Array.from({ length: count }, () => changed > 0) : undefined

  async function named(
    rows: readonly EntityReplace[],
    fenceParameters: readonly unknown[],
    call: Call,
    through: Session,
  ): Promise<readonly boolean[]> {
    const { numAffectedRows, insertId = 0n } = await send(rows, true, fenceParameters, call, through)
    const changed = toCount(numAffectedRows)
    const won =
      atOnce(rows.length, changed) ?? rows.map((_, place) => ((insertId >> BigInt(place)) & 1n) === 1n)
    if (won.filter(Boolean).length === changed) return won
    const message = `${changed} of ${rows.length} entities were written, and the answer does not name them; does a proxy change answers on their way?`
    throw fail('OUTCOME_UNKNOWN', message)
  }

  async function readBack(
    rows: readonly EntityReplace[],
    fenceParameters: readonly unknown[],
    call: Call,
    through: Session,
  ): Promise<readonly boolean[]> {
    const { numAffectedRows } = await send(rows, false, fenceParameters, call, through)
    const changed = toCount(numAffectedRows)
    const all = atOnce(rows.length, changed)
    if (all !== undefined) return all
    const ids = rows.map(({ id }) => id)
    const versions = await readVersions(ids, { ...call, write: false }, through)
    const won = rows.map(({ version }, i) => versions[i] === version)
    if (won.filter(Boolean).length === changed) return won
    // The transaction is rolled back with this error.
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
      if (rows.length <= MAX_NAMED) return named(rows, fenceParameters, call, outer)
      const work = (through: Session): Promise<readonly boolean[]> =>
        readBack(rows, fenceParameters, call, through)
      return outer === session ? session.transaction(call, work) : work(outer)
    },
  }
}

/**
 * The rows as a derived table that drives the join. Each entity is found by the key on `id`: a small table would be scanned
 * otherwise, and its rows locked in the order in which they were inserted. The casts say what
 * the parameters of a prepared statement are, which has no values yet when the types of the derived table are decided.
 * MySQL decides on 65,535 bytes for a body, and cuts what is longer where it is not strict, unless it may be something
 * longer; MariaDB would put the derived table on disk for that.
 *
 * LAST_INSERT_ID of a value keeps it, and the answer to the statement carries the last one: 0 before the first row, and from then on
 * the bits of the rows that were changed.
 *
 * Parameters: of each row id, base, version, body; then those of the fence. `isLong`: one of the bodies has more than 65,535
 * bytes.
 */
export function swapStatement(
  count: number,
  { isLong, namesWinners }: { readonly isLong: boolean; readonly namesWinners: boolean },
  { table, fence, updated }: Pick<SwapTable, 'table' | 'fence' | 'updated'>,
): RawBuilder<unknown> {
  const cast = sql`CAST(${slot} AS BINARY)`
  const body = isLong ? sql`IFNULL(${cast}, CAST(NULL AS BINARY(16777215)))` : cast
  const bit = (place: number): RawBuilder<unknown> => {
    const own = sql.lit(2 ** place)
    return namesWinners ? sql`, ${place === 0 ? sql`LAST_INSERT_ID(0) + ${own}` : own} AS bit` : sql``
  }
  const rows = Array.from(
    { length: count },
    (_, place) => sql`
      SELECT CAST(${slot} AS BINARY(16)) AS id, CAST(${slot} AS UNSIGNED) AS base,
        CAST(${slot} AS UNSIGNED) AS version, ${body} AS body${bit(place)}`,
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
