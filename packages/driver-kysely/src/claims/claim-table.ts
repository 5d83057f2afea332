import {
  badOption,
  directionsOf,
  type ClaimTable,
  type IndexRow,
  type Key,
  isBytes,
} from '@looseleaf/core/internal'
import { indexCalls } from '../indexes/index-calls.ts'
import { indexRowReader } from '../indexes/index-row.ts'
import type { IndexTableOptions } from '../indexes/index-table.ts'
import { claimsByKey } from '../indexes/key-order.ts'
import { toCount } from '../database/row-values.ts'
import type { Call, Session } from '../database/session.ts'
import { checkWriteRows } from '../database/sql-parts.ts'
import { claimStatements, takeParameters } from './claim-statements.ts'

export function createClaimTable({
  session,
  flavor,
  spec,
  flush,
}: Omit<IndexTableOptions, 'shardName' | 'entityTable'>): ClaimTable {
  const statements = claimStatements(spec, flavor)
  const directions = directionsOf(spec.columns)
  const { writing, shape } = indexCalls(session, spec)
  const { parameters: sessionParameters } = flavor.ownSession
  const claimOf = indexRowReader(spec)

  /** Resolves with the number of changed rows if the flavor `countsChanges`. */
  async function send(rows: readonly IndexRow[], call: Call, through: Session): Promise<number> {
    const { numAffectedRows } = await through.run(
      shape(`take ${rows.length}`, () => statements.take(rows.length)),
      takeParameters(claimsByKey(rows, directions), sessionParameters),
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
      [...rows.flatMap<unknown>(({ key }) => key), ...sessionParameters],
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
      // A single row that was changed is the entity's now, with its stamp, by a commit that is on disk.
      if (flavor.countsChanges && rows.length === 1 && (await send(rows, call, session)) > 0) return rows
      // The upsert locks every claim, changed or not, until the transaction commits. Without the transaction:
      // 1. The upsert finds the key with another entity, leaves it, and commits.
      // 2. Another process swaps the claim to this entity. Its commit is visible, but not on disk yet.
      // 3. The read returns this entity's claim, so the writer commits the entity, on another shard.
      // 4. The server of the claim crashes and undoes the swap: the entity has a key that it does not hold.
      return session.transaction(call, async (inner) => {
        const changed = await send(rows, call, inner)
        const claims = await read(rows, call, inner)
        // A server writes its log in order. A transaction that changed a row is logged after every commit that it saw, also those
        // of rows that it left unchanged, so its own commit makes them durable. A transaction that changed none logs nothing:
        // 1. Another process takes the claim for this entity. Its commit is visible, but not on disk yet.
        // 2. This transaction finds the claim, changes nothing, and its commit returns without a write.
        // 3. The writer commits the entity, on another shard. The server of the claim crashes and undoes the claim.
        if (changed === 0) await flush.addChange(inner)
        return claims
      })
    },

    async swap(claim, to, options) {
      const { key, entityId, version } = claim
      // A database that counts changes would report 0 rows, as if the claim were another one.
      if (to.version === version && Buffer.compare(to.entityId, entityId) === 0) {
        throw badOption(
          `A swap in ${spec.table} needs another entity or another stamp than the claim has; got the same.`,
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

/** Returns equal texts for equal keys of one table. */
function textOf(key: Key): string {
  return key.map((value) => (isBytes(value) ? Buffer.from(value).toString('hex') : String(value))).join()
}
