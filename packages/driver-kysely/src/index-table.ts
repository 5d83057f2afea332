import type {
  CallOptions,
  IndexRow,
  IndexRowRemoval,
  IndexTable,
  IndexTableSpec,
  Key,
  KeyValue,
} from '@looseleaf/core'
import type { Flavor } from './flavor.ts'
import type { Flush } from './flush.ts'
import { indexRowReader } from './index-row.ts'
import { indexStatements } from './index-statements.ts'
import { toCount, toNumber } from './row-values.ts'
import type { Call, FaultCodes, Session } from './session.ts'
import { checkWriteRows } from './sql-parts.ts'

export interface IndexTableOptions {
  readonly session: Session
  readonly flavor: Flavor
  readonly spec: IndexTableSpec
  readonly flush: Flush
}

export function createIndexTable({ session, flavor, spec, flush }: IndexTableOptions): IndexTable {
  const statements = indexStatements(spec, flavor)
  const faults: FaultCodes = {
    'no-table': ['INDEX_NOT_FOUND', `the index table ${spec.table} is missing.`],
  }
  const reading = (call: CallOptions | undefined): Call => ({ write: false, signal: call?.signal, faults })
  const writing = (call: CallOptions | undefined): Call => ({ write: true, signal: call?.signal, faults })
  const shape = (key: string, build: Parameters<Session['shape']>[1]): ReturnType<Session['shape']> =>
    session.shape(`${spec.table} ${key}`, build)

  const indexRow = indexRowReader(
    spec.columns.map(({ type }) => type),
    statements.columns,
  )

  return {
    async upsert(rows, call) {
      if (rows.length === 0) return
      checkWriteRows(spec.table, rows.length)
      const parameters = inOrder(rows).flatMap<unknown>(({ key, entityId, version }) => [
        ...key,
        entityId,
        version,
      ])
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
        inOrder(rows).flatMap<unknown>(({ key, entityId, before }) => [...key, entityId, before]),
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

/** Statements that lock rows in one order do not lock each other out. */
function inOrder<Item extends IndexRow | IndexRowRemoval>(rows: readonly Item[]): readonly Item[] {
  if (rows.length < 2) return rows
  return rows.toSorted((a, b) => compareKeys(a.key, b.key) || Buffer.compare(a.entityId, b.entityId))
}

function compareKeys(a: Key, b: Key): number {
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as KeyValue
    const y = b[i] as KeyValue
    const order =
      x instanceof Uint8Array
        ? Buffer.compare(x, y as Uint8Array)
        : x < (y as typeof x)
          ? -1
          : x > (y as typeof x)
            ? 1
            : 0
    if (order !== 0) return order
  }
  return 0
}
