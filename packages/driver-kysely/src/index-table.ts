import { directionsOf, LooseleafError, type IndexTable, type IndexTableSpec } from '@looseleaf/core'
import type { Flavor } from './flavor.ts'
import type { Flush } from './flush.ts'
import { indexRowReader } from './index-row.ts'
import { indexStatements } from './index-statements.ts'
import { indexCalls } from './index-calls.ts'
import { inOrder } from './key-order.ts'
import { toCount, toNumber } from './row-values.ts'
import type { Session } from './session.ts'
import { checkWriteRows } from './sql-parts.ts'

export interface IndexTableOptions {
  readonly session: Session
  readonly flavor: Flavor
  readonly spec: IndexTableSpec
  readonly flush: Flush
}

export function createIndexTable({ session, flavor, spec, flush }: IndexTableOptions): IndexTable {
  const statements = indexStatements(spec, flavor)
  const directions = directionsOf(spec.columns)
  const { reading, writing, shape } = indexCalls(session, spec)

  const indexRow = indexRowReader(
    spec.columns.map(({ type }) => type),
    statements.columns,
  )

  return {
    async upsert(rows, call) {
      if (spec.unique) {
        throw new LooseleafError(
          'BAD_OPTION',
          `${spec.table} is a table of claims, which are taken, not written.`,
        )
      }
      if (rows.length === 0) return
      checkWriteRows(spec.table, rows.length)
      const parameters = inOrder(rows, directions).flatMap<unknown>(
        ({ key, entityId, version, included = null }) => [
          ...key,
          entityId,
          version,
          ...(spec.covering ? [included] : []),
        ],
      )
      const send = (through: Session): ReturnType<Session['run']> =>
        through.run(
          shape(`upsert ${rows.length}`, () => statements.upsert(rows.length)),
          parameters,
          writing(call),
        )
      const { numAffectedRows } = await send(session)
      // It has written nothing to the log: others have stamped these rows, and their commits may not be on disk yet.
      if (toCount(numAffectedRows) === 0) await flush.after(writing(call), send)
    },

    async remove(rows, call) {
      if (rows.length === 0) return 0
      checkWriteRows(spec.table, rows.length)
      const result = await session.run(
        shape(`remove ${rows.length}`, () => statements.remove(rows.length)),
        inOrder(rows, directions).flatMap<unknown>(({ key, entityId, before }) => [...key, entityId, before]),
        writing(call),
      )
      return toCount(result.numAffectedRows)
    },

    async scan(scan, call) {
      const statement = statements.scan(scan)
      const { rows } = await session.run(
        shape(statement.shape, () => statement.build()),
        statement.parameters,
        reading(call),
      )
      return rows.map(indexRow)
    },

    async count(range, call) {
      const statement = statements.count(range)
      const { rows } = await session.run(
        shape(statement.shape, () => statement.build()),
        statement.parameters,
        reading(call),
      )
      return toNumber(rows[0]?.entities ?? 0)
    },
  }
}
