import type { EntityInsert, IndexTableSpec, LocalRows, RowsOfTable } from '@looseleaf/core/internal'
import type { BoundStatement } from '../database/session.ts'
import { indexWrites, type IndexWrites, type LostRow } from '../indexes/index-writes.ts'
import type { EntityTableOptions } from './entity-calls.ts'

/**
 * Builds the statements of `local` rows, which share the transaction of their entities. Tables stand in the order of their names:
 * transactions that lock rows in one order cannot deadlock.
 */
export interface LocalRowStatements {
  /** Claims and upserts, which come before the entities. */
  before(entities: readonly EntityInsert[]): readonly BoundStatement[]
  /** Deletes for the entities that were written. */
  after(entities: readonly EntityInsert[]): readonly BoundStatement[]
}

const NONE: readonly never[] = []

export function createLocalRows({ session, flavor, table }: EntityTableOptions): LocalRowStatements {
  const byTable = new Map<string, IndexWrites>()

  function writesOf(spec: IndexTableSpec): IndexWrites {
    let writes = byTable.get(spec.table)
    if (writes === undefined)
      byTable.set(spec.table, (writes = indexWrites({ session, flavor, entityTable: table }, spec)))
    return writes
  }

  /** Gathers the rows of all entities by table, and returns the statements of each table. */
  function statementsOf<Given, Row>(
    entities: readonly EntityInsert[],
    listOf: (local: LocalRows) => readonly RowsOfTable<Given>[] | undefined,
    rowOf: (given: Given, entity: EntityInsert) => Row,
    build: (writes: IndexWrites, rows: readonly Row[]) => readonly BoundStatement[],
  ): readonly BoundStatement[] {
    const tables = new Map<string, { readonly spec: IndexTableSpec; readonly rows: Row[] }>()
    for (const entity of entities) {
      if (entity.local === undefined) continue
      for (const { spec, rows } of listOf(entity.local) ?? NONE) {
        let group = tables.get(spec.table)
        if (group === undefined) tables.set(spec.table, (group = { spec, rows: [] }))
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
