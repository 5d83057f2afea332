import type { Shard } from '@looseleaf/core'
import { chunks, distinctIds, type IndexRow, type IndexTableSpec } from '@looseleaf/core/internal'
import { sql } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toNumber } from '../database/row-values.ts'
import { columnNames } from '../schema/schema.ts'
import type { FaultCodes, Session } from '../database/session.ts'
import { idChunks, parameterList } from '../database/sql-parts.ts'
import { indexRowReader, selectedColumn } from './index-row.ts'

/** Largest number of parameters, and of tables, of one statement. */
const MAX_PARAMETERS = 2_048
const MAX_TABLES = 32

/** Creates `rowsOf` of a shard. One statement reads many index tables if their columns have the same types. */
export function createRowsOf(session: Session, flavor: Flavor): Shard['rowsOf'] {
  async function readTables(
    specs: readonly IndexTableSpec[],
    ids: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<readonly { readonly spec: IndexTableSpec; readonly row: IndexRow }[]> {
    const names = specs.map(({ table }) => table)
    const types = (specs[0] as IndexTableSpec).columns.map(({ type }) => type)
    const build = () => {
      const branches = specs.map((spec, number) => {
        const keyColumns = columnNames(spec)
        const key = types.map((type, i) =>
          selectedColumn(flavor, spec.table, keyColumns[i] as string, type, `k${i}`),
        )
        const selected = sql.join([
          sql`${sql.lit(number)} AS nr`,
          ...key,
          sql.ref('entity_id'),
          sql.ref('version'),
        ])
        return sql`SELECT ${selected} FROM ${sql.table(spec.table)} WHERE entity_id IN (${parameterList(ids.length)})`
      })
      return sql.join(branches, sql` UNION ALL `)
    }
    const faults: FaultCodes = {
      'no-table': ['INDEX_NOT_FOUND', `an index table is missing: ${names.join(' or ')}.`],
    }
    const { rows } = await session.run(
      session.shape(`rowsOf ${ids.length} ${names.join()}`, build),
      specs.flatMap(() => ids),
      { write: false, signal, faults },
    )
    const read = indexRowReader({ columns: types.map((type, i) => ({ name: `k${i}`, type })) })
    return rows.map((row) => ({ spec: specs[toNumber(row.nr)] as IndexTableSpec, row: read(row) }))
  }

  return async (specs, entityIds, options) => {
    // An id in two chunks would give its rows twice.
    const work = idChunks(distinctIds(entityIds)).flatMap((ids) => {
      const tables = Math.max(1, Math.min(MAX_TABLES, Math.floor(MAX_PARAMETERS / ids.length)))
      return [...bySignature(specs)].flatMap((alike) =>
        Array.from(chunks(alike, tables), (run) => readTables(run, ids, options?.signal)),
      )
    })
    const found = new Map(specs.map((spec): [IndexTableSpec, IndexRow[]] => [spec, []]))
    for (const part of await Promise.all(work)) for (const { spec, row } of part) found.get(spec)?.push(row)
    return specs.map((spec) => found.get(spec) as IndexRow[])
  }
}

/** Groups tables whose columns have the same types. */
function bySignature(specs: readonly IndexTableSpec[]): Iterable<readonly IndexTableSpec[]> {
  return Map.groupBy(new Set(specs), ({ columns }) => columns.map(({ type }) => type).join()).values()
}
