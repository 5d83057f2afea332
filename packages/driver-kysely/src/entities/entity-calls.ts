import type { CallOptions } from '@looseleaf/core'
import { idKey, type EntityInsert } from '@looseleaf/core/internal'
import type { QueryResult } from 'kysely'
import { refuseStaleEpoch, staleEpoch } from '../database/epoch-fence.ts'
import type { Flavor } from '../database/flavor.ts'
import {
  callsWith,
  type BoundStatement,
  type Call,
  type Calls,
  type FaultCodes,
  type Row,
  type Session,
} from '../database/session.ts'
import { idChunks } from '../database/sql-parts.ts'
import { entityStatements, type EntityStatements } from './entity-statements.ts'

const faults: FaultCodes = {
  duplicate: ['ALREADY_EXISTS', 'an entity with one of these ids already exists.'],
  'no-table': ['NOT_MIGRATED', 'the entity table or the catalog table is missing; create the tables first.'],
  'fence-refused': staleEpoch,
}

export interface EntityTableOptions {
  readonly shardName: string
  readonly session: Session
  readonly flavor: Flavor
  readonly table: string
}

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

/** The statements of one entity table, and the calls that its parts have in common. */
export interface EntityCalls extends Calls {
  readonly statements: EntityStatements
  /** Selects rows by their ids, keyed by `idKey`. `parameters` stand before those of the session. `through` is a transaction. */
  select(
    kind: 'read' | 'readBounded' | 'bodyLengths' | 'readVersions' | 'exist' | 'checksums' | 'lock' | 'hold',
    ids: readonly Uint8Array[],
    call: Call,
    parameters?: readonly unknown[],
    through?: Session,
  ): Promise<ReadonlyMap<string, Row>>
  /** Sends writes: one alone, or several in one transaction. */
  write(
    statements: readonly BoundStatement[],
    options: CallOptions | undefined,
  ): Promise<readonly QueryResult<Row>[]>
  /** Codes of the faults of the entity table. */
  readonly faults: FaultCodes
  /** Throws `STALE_EPOCH` if the shard has another epoch than this one. */
  refuseStaleEpoch(epoch: number, call: Call): Promise<void>
}

export function entityCalls({ session, flavor, shardName, table }: EntityTableOptions): EntityCalls {
  const statements = entityStatements(table, flavor)
  const { parameters: sessionParameters } = flavor.ownSession

  return {
    statements,
    ...callsWith(faults),
    faults,

    async write(bound, options) {
      const call = { write: true, signal: options?.signal }
      const [first, ...others] = bound
      if (first === undefined || others.length > 0) return session.packet(bound, call)
      return [await session.run(first.query, first.parameters, { ...call, faults: first.faults })]
    },

    async select(kind, ids, call, parameters = [], through = session) {
      const found = new Map<string, Row>()
      const isKept = ['read', 'readBounded', 'readVersions', 'exist'].includes(kind)
      const hints = { keep: isKept ? ('common' as const) : undefined }
      const [first, ...rest] = idChunks(ids).map((chunk) =>
        through.run(
          session.shape(`${kind} ${chunk.length}`, () => statements[kind](chunk.length), hints),
          [...parameters, ...sessionParameters, ...chunk],
          call,
        ),
      )
      if (first === undefined) return found
      const results = rest.length === 0 ? [await first] : await Promise.all([first, ...rest])
      for (const { rows } of results) for (const row of rows) found.set(idKey(row.id as Uint8Array), row)
      return found
    },

    refuseStaleEpoch: (epoch, call) => refuseStaleEpoch(session, shardName, epoch, call),
  }
}

/** Returns the row of each id, in order; undefined for one that was not found. */
export function rowsOfIds<Found>(
  ids: readonly Uint8Array[],
  found: ReadonlyMap<string, Row>,
  convert: (row: Row) => Found,
): (Found | undefined)[] {
  return ids.map((id) => {
    const row = found.get(idKey(id))
    return row && convert(row)
  })
}

/** Statements that lock rows in the same order cannot deadlock. */
export function sortedById<Item extends { readonly id: Uint8Array }>(rows: readonly Item[]): readonly Item[] {
  return rows.toSorted((a, b) => Buffer.compare(a.id, b.id))
}
