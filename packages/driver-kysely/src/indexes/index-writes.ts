import {
  chunks,
  directionsOf,
  type EntityInsert,
  type IndexRow,
  type IndexTableSpec,
  type Key,
} from '@looseleaf/core/internal'
import { sumOfBody, type Flavor } from '../database/flavor.ts'
import type { BoundStatement, Session } from '../database/session.ts'
import { MAX_WRITE_ROWS } from '../database/sql-parts.ts'
import { indexCalls, indexFaults } from './index-calls.ts'
import { indexStatements } from './index-statements.ts'
import { sortedByKey } from './key-order.ts'

/** A row to delete if a write of its entity was done. */
export interface LostRow extends Pick<EntityInsert, 'version' | 'body'> {
  readonly key: Key
  readonly entityId: Uint8Array
}

/** Returns the writes of one index table, or table of claims, in statements of up to `MAX_WRITE_ROWS` rows in the order of their keys. */
export interface IndexWrites {
  upserts(rows: readonly IndexRow[]): readonly BoundStatement[]
  /** Deletes rows whose stamp is below the version, if the entity has this version and this body. */
  removals(rows: readonly LostRow[]): readonly BoundStatement[]
}

/** Rows of a statement. A table of as many rows is joined, which needs no plan that grows with them, but each number is a statement of its own. */
const MAX_REMOVALS = 100

export function indexWrites(
  {
    session,
    flavor,
    entityTable,
  }: { readonly session: Pick<Session, 'shape'>; readonly flavor: Flavor; readonly entityTable: string },
  spec: IndexTableSpec,
): IndexWrites {
  const statements = indexStatements(spec, flavor, entityTable)
  const directions = directionsOf(spec.columns)
  const { shape } = indexCalls(session, spec)
  const { parameters: sessionParameters } = flavor.ownSession
  const faults = indexFaults(spec)

  function upsert(rows: readonly IndexRow[]): BoundStatement {
    const query = shape(`upsert ${rows.length}`, () => statements.upsert(rows.length), {
      keep: rows.length === 1 ? 'common' : undefined,
    })
    const parameters: unknown[] = []
    for (const [i, { key, entityId, version, included = null }] of rows.entries()) {
      parameters.push(...key, entityId)
      if (i === 0) parameters.push(...sessionParameters)
      parameters.push(version)
      if (spec.covering) parameters.push(included)
    }
    return { query, parameters, faults }
  }

  function remove(rows: readonly LostRow[]): BoundStatement {
    const query = shape(`remove of winners ${rows.length}`, () => statements.removeOfWinners(rows.length))
    const parameters = rows.flatMap<unknown>(({ key, entityId, version, body }) => [
      ...key,
      entityId,
      version,
      sumOfBody(body),
    ])
    return { query, parameters, faults }
  }

  return {
    upserts: (rows) => inChunks(sortedByKey(rows, directions), upsert),
    removals: (rows) => inChunks(sortedByKey(rows, directions), remove, MAX_REMOVALS),
  }
}

/** Cuts rows into statements of at most this many. */
export function inChunks<Row>(
  rows: readonly Row[],
  statementOf: (rows: readonly Row[]) => BoundStatement,
  length: number = MAX_WRITE_ROWS,
): readonly BoundStatement[] {
  return Array.from(chunks(rows, length), (some) => statementOf(some))
}
