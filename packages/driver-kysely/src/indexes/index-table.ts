import type { CallOptions } from '@looseleaf/core'
import {
  badOption,
  directionsOf,
  type IndexRow,
  type IndexScan,
  type IndexTable,
  type IndexTableSpec,
} from '@looseleaf/core/internal'
import { refuseStaleEpoch } from '../database/epoch-fence.ts'
import type { Flavor } from '../database/flavor.ts'
import type { Flush } from '../bookkeeping/flush.ts'
import { toCount, toNumber } from '../database/row-values.ts'
import type { BoundStatement, Row, Session } from '../database/session.ts'
import { checkWriteRows } from '../database/sql-parts.ts'
import { entityCalls } from '../entities/entity-calls.ts'
import { lengthsOf } from '../entities/bounded-rows.ts'
import { indexRowReader, readPrefix } from './index-row.ts'
import type { ParameterizedSql } from './index-scan.ts'
import { indexStatements } from './index-statements.ts'
import { indexCalls } from './index-calls.ts'
import { indexWrites } from './index-writes.ts'
import { sortedByKey, sortedByScan } from './key-order.ts'
import { joinedRow, omittedEntities, versionedRow } from './joined-scans.ts'
import { limited, unionOf } from './union.ts'

export interface IndexTableOptions {
  readonly shardName: string
  readonly session: Session
  readonly flavor: Flavor
  readonly entityTable: string
  readonly spec: IndexTableSpec
  readonly flush: Flush
}

export function createIndexTable(options: IndexTableOptions): IndexTable {
  const { shardName, session, flavor, spec, flush, entityTable } = options
  const statements = indexStatements(spec, flavor, entityTable)
  const writes = indexWrites(options, spec)
  const entities = entityCalls({ shardName, session, flavor, table: entityTable })
  const directions = directionsOf(spec.columns)
  const { reading, writing, shape } = indexCalls(session, spec)
  const { parameters: sessionParameters } = flavor.ownSession

  const indexRow = indexRowReader(spec)

  async function select(
    { shape: key, build, parameters, guardAt, keep }: ParameterizedSql,
    call: CallOptions | undefined,
  ): Promise<readonly Row[]> {
    const query = shape(key, () => build(), { keep })
    const all = guardAt === undefined ? parameters : parameters.toSpliced(guardAt, 0, ...sessionParameters)
    return (await session.run(query, all, reading(call))).rows
  }

  // Two prepared statements of 32 joins are faster than one of 64 as text, because a server plans each join.
  const joinedParts = flavor.preparedParts > 0 ? flavor.preparedParts : flavor.unionParts

  /** Sends scans of one kind, and returns their rows in the order of the scans. */
  const selectAll = <Scan extends IndexScan>(
    scans: readonly Scan[],
    statementOf: (scan: Scan) => ParameterizedSql,
    call: CallOptions | undefined,
    maxParts = flavor.unionParts,
  ): Promise<readonly (readonly Row[])[]> =>
    unionOf(scans, {
      maxParts,
      maxPreparedParts: flavor.preparedParts,
      statementOf,
      toEmpty: (scan) => ({ ...scan, limit: 0 }),
      select: (statement) => select(statement, call),
    })

  /** Converts the rows of scans of `selectAll`. */
  const pagesOf = <Converted extends IndexRow>(
    scans: readonly IndexScan[],
    found: readonly (readonly Row[])[],
    convert: (row: IndexRow, selected: Row) => Converted,
  ): readonly (readonly Converted[])[] =>
    scans.map(({ prefix: given, order }, i) => {
      const prefix = readPrefix(spec, given)
      const page = found[i]!.map((selected) => convert(indexRow(selected, prefix), selected))
      // A single scan is not a part of a UNION, so its rows are sorted.
      return scans.length === 1 ? page : sortedByScan(page, order, directions)
    })

  const scanMany: IndexTable['scanMany'] = async (scans, call) => {
    const found = await selectAll(scans, statements.scan, call)
    return pagesOf(scans, found, (row) => row)
  }

  return {
    async upsert(rows, call) {
      if (spec.unique) {
        throw badOption(
          `${spec.table} is the table of a unique index. Take its claims with \`claims(spec).take\`; \`upsert\` is for other indexes.`,
        )
      }
      if (rows.length === 0) return
      checkWriteRows(spec.table, rows.length)
      const [{ query, parameters }] = writes.upserts(rows) as [BoundStatement]
      const send = (through: Session): ReturnType<Session['run']> =>
        through.run(query, parameters, writing(call))
      const { numAffectedRows } = await send(session)
      // An upsert that changes no row writes nothing to the log, so its own commit proves nothing:
      // 1. Another process stamps these rows. Its commit is visible, but not on disk yet.
      // 2. This upsert finds the stamps, changes nothing, and returns.
      // 3. This process commits the entity on another shard.
      // 4. The server of the rows crashes and loses the stamps: the entity has no index row.
      // `commitAfter` sends the upsert again before a commit that is written.
      if (toCount(numAffectedRows) === 0) await flush.commitAfter(writing(call), send)
    },

    async remove(rows, call) {
      if (rows.length === 0) return 0
      checkWriteRows(spec.table, rows.length)
      const { epoch } = call ?? {}
      const isFenced = epoch !== undefined
      const parameters = sortedByKey(rows, directions).flatMap<unknown>(({ key, entityId, before }) => [
        ...key,
        entityId,
        before,
      ])
      const result = await session.run(
        shape(`remove ${rows.length} ${isFenced}`, () => statements.remove(rows.length, isFenced)),
        isFenced ? [...parameters, epoch] : parameters,
        writing(call),
      )
      const removed = toCount(result.numAffectedRows)
      if (removed === 0 && isFenced) await refuseStaleEpoch(session, shardName, epoch, reading(call))
      return removed
    },

    async repairStamps(entityId, version, call) {
      const query = shape('repairStamps', () => statements.repairStamps())
      return toCount((await session.run(query, [version, entityId], writing(call))).numAffectedRows)
    },

    scan: async (scan, call) => (await scanMany([scan], call))[0]!,

    scanMany,

    async scanEntities(scans, call) {
      const found = await selectAll(scans, statements.scanEntities, call, joinedParts)
      const lengths = await lengthsOf(entities, omittedEntities(found), entities.reading(call))
      return pagesOf(scans, found, (row, selected) => joinedRow(row, selected, lengths))
    },

    async scanVersions(scans, call) {
      const found = await selectAll(scans, statements.scanVersions, call, joinedParts)
      return pagesOf(scans, found, versionedRow)
    },

    async count(range, call) {
      const [row] = await select(statements.count(range), call)
      return toNumber(row?.entities ?? 0)
    },

    async countMany(ranges, call) {
      const found = await unionOf(
        ranges.map((range) => ({ range, limit: 1 })),
        {
          maxParts: flavor.unionParts,
          maxPreparedParts: 0,
          statementOf: ({ range, limit }) => limited(statements.count(range), limit),
          toEmpty: ({ range }) => ({ range, limit: 0 }),
          select: (statement) => select(statement, call),
        },
      )
      return found.map(([row]) => toNumber(row?.entities ?? 0))
    },

    async countShort(ranges, maxRows, call) {
      const found = await unionOf(
        ranges.map((range) => ({ range, limit: maxRows + 1 })),
        {
          maxParts: flavor.unionParts,
          maxPreparedParts: 0,
          statementOf: ({ range, limit }) => statements.countShort(range, maxRows + 1, limit),
          toEmpty: ({ range }) => ({ range, limit: 0 }),
          select: (statement) => select(statement, call),
        },
      )
      return found.map(([row]) => {
        const counted = row?.entities ?? null
        return counted === null ? undefined : toNumber(counted)
      })
    },
  }
}
