import {
  directionsOf,
  LooseleafError,
  type ClaimTable,
  type IndexRow,
  type Key,
  isBytes,
} from '@looseleaf/core'
import { claimStatements } from './claim-statements.ts'
import { indexCalls } from './index-calls.ts'
import { indexRowReader } from './index-row.ts'
import type { IndexTableOptions } from './index-table.ts'
import { inKeyOrder } from './key-order.ts'
import { toCount } from './row-values.ts'
import { columnNames } from './schema.ts'
import type { Call, Session } from './session.ts'
import { checkWriteRows } from './sql-parts.ts'

export function createClaimTable({ session, flavor, spec, flush }: IndexTableOptions): ClaimTable {
  const statements = claimStatements(spec, flavor)
  const directions = directionsOf(spec.columns)
  const { writing, shape } = indexCalls(session, spec)
  const { parameters: ofOwnSession } = flavor.ownSession
  const claimOf = indexRowReader(
    spec.columns.map(({ type }) => type),
    columnNames(spec),
  )

  /** Answers how many rows it has changed, where the database tells. */
  async function send(rows: readonly IndexRow[], call: Call, through: Session): Promise<number> {
    const { numAffectedRows } = await through.run(
      shape(`take ${rows.length}`, () => statements.take(rows.length)),
      inKeyOrder(rows, directions).flatMap<unknown>(({ key, entityId, version }, i) =>
        i === 0 ? [...key, entityId, ...ofOwnSession, version] : [...key, entityId, version],
      ),
      call,
    )
    return toCount(numAffectedRows)
  }

  async function read(
    rows: readonly IndexRow[],
    call: Call,
    through: Session,
  ): Promise<readonly (IndexRow | undefined)[]> {
    const result = await through.run(
      shape(`claims ${rows.length}`, () => statements.read(rows.length)),
      [...rows.flatMap<unknown>(({ key }) => key), ...ofOwnSession],
      { ...call, write: false },
    )
    const claims = result.rows.map((row) => claimOf(row))
    const byKey = new Map(claims.map((claim) => [textOf(claim.key), claim]))
    return rows.map(({ key }) => byKey.get(textOf(key)))
  }

  return {
    async take(rows, options) {
      if (rows.length === 0) return []
      checkWriteRows(spec.table, rows.length)
      const call = writing(options)
      // That the only row was changed says how it stands now: the entity's, with its stamp.
      if (flavor.countsChanges && rows.length === 1 && (await send(rows, call, session)) > 0) return rows
      // The transaction holds every claim, changed or not, until it is committed. Read without it, a claim could be
      // the entity's by a commit that came after our own, and is not on disk yet.
      return session.transaction(call, async (inner) => {
        const changed = await send(rows, call, inner)
        const claims = await read(rows, call, inner)
        // What changed one row is written to the log after all that it has met, the rows that it left as they are too:
        // its own commit covers them. What changed none writes nothing, and what it has met may not be on disk.
        if (changed === 0) await flush.within(inner)
        return claims
      })
    },

    async swap(claim, to, options) {
      const { key, entityId, version } = claim
      // A database that counts changes would answer as if it had not found the claim.
      if (to.version === version && Buffer.compare(to.entityId, entityId) === 0) {
        throw new LooseleafError(
          'BAD_OPTION',
          `A swap in ${spec.table} gives a claim another entity or another stamp; got those that it has.`,
        )
      }
      const { numAffectedRows } = await session.run(
        shape('swap', () => statements.swap()),
        [to.entityId, to.version, ...key, entityId, version],
        writing(options),
      )
      return toCount(numAffectedRows) === 1
    },
  }
}

/** The same for the same key; values of one column are of one kind. */
function textOf(key: Key): string {
  return key.map((value) => (isBytes(value) ? Buffer.from(value).toString('hex') : String(value))).join()
}
