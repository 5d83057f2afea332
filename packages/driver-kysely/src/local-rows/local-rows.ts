import {
  getOrInsert,
  type EntityInsert,
  type IndexTableSpec,
  type LocalRows,
  type RowsOfTable,
} from '@looseleaf/core/internal'
import type { BoundStatement } from '../database/session.ts'
import { claimTakes } from '../claims/claim-writes.ts'
import { indexWrites, type IndexWrites, type LostRow } from '../indexes/index-writes.ts'
import type { EntityTableOptions, LocalRowStatements } from '../entities/entity-calls.ts'

interface TableWrites extends IndexWrites {
  readonly takes: ReturnType<typeof claimTakes>
}

const NONE: readonly never[] = []

/** Creates the statements of local rows of one entity table. */
export function createLocalRows({
  session,
  flavor,
  table,
}: Omit<EntityTableOptions, 'shardName'>): LocalRowStatements {
  const options = { session, flavor, entityTable: table }
  const byTable = new Map<string, TableWrites>()

  function writesOf(spec: IndexTableSpec): TableWrites {
    return getOrInsert(byTable, spec.table, () => ({
      ...indexWrites(options, spec),
      takes: claimTakes(options, spec),
    }))
  }

  /** Gathers the rows of all entities by table, and returns the statements of each table. */
  function statementsOf<Given, Row>(
    entities: readonly EntityInsert[],
    listOf: (local: LocalRows) => readonly RowsOfTable<Given>[] | undefined,
    rowOf: (given: Given, entity: EntityInsert) => Row,
    build: (writes: TableWrites, rows: readonly Row[]) => readonly BoundStatement[],
  ): readonly BoundStatement[] {
    const tables = new Map<string, { readonly spec: IndexTableSpec; readonly rows: Row[] }>()
    for (const entity of entities) {
      if (entity.local === undefined) continue
      for (const { spec, rows } of listOf(entity.local) ?? NONE) {
        const group = getOrInsert(tables, spec.table, () => ({ spec, rows: [] }))
        for (const row of rows) group.rows.push(rowOf(row, entity))
      }
    }
    if (tables.size === 0) return NONE
    return [...tables.values()]
      .toSorted((a, b) => (a.spec.table < b.spec.table ? -1 : 1))
      .flatMap(({ spec, rows }) => build(writesOf(spec), rows))
  }

  return {
    before: (entities) => [
      ...statementsOf(
        entities,
        ({ claims }) => claims,
        itself,
        (writes, rows) => writes.takes(rows),
      ),
      ...statementsOf(
        entities,
        ({ upsert }) => upsert,
        itself,
        (writes, rows) => writes.upserts(rows),
      ),
    ],
    after: (entities) =>
      statementsOf(
        entities,
        ({ remove }) => remove,
        ({ key }, { id, version, body }): LostRow => ({ key, entityId: id, version, body }),
        (writes, rows) => writes.removals(rows),
      ),
  }
}

const itself = <Row>(row: Row): Row => row
