import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import {
  badClock,
  idKey,
  MAX_CLOCK_MICROS,
  type EntityInsert,
  type EntityPageRow,
  type EntitySwap,
  type EntityRow,
  type EntityTable,
  type PageOptions,
  type EpochWriteOptions,
} from '@looseleaf/core/internal'
import type { CompiledQuery } from 'kysely'
import { sumOfBody } from '../database/flavor.ts'
import { toCount, toNumber } from '../database/row-values.ts'
import type { BoundStatement, Row } from '../database/session.ts'
import { checkWriteRows, idChunks } from '../database/sql-parts.ts'
import { boundedRow, lengthsOf, selectedRow } from './bounded-rows.ts'
import { rangeParameters, rangeParts } from './changes-range.ts'
import { createEntityBatch, type BatchedTableOptions } from './entity-batch.ts'
import { createEntityCopies } from './entity-copies.ts'
import { entityCalls, rowsOfIds, sortedById, type LocalRowStatements } from './entity-calls.ts'
import { pendingUpsert } from './pending-table.ts'

export function createEntityTable(options: BatchedTableOptions, localRows: LocalRowStatements): EntityTable {
  const { session, flavor, shardName } = options
  const calls = entityCalls(options)
  const { statements, reading, writing, write, faults, select, refuseStaleEpoch } = calls
  const { parameters: sessionParameters } = flavor.ownSession

  const swaps = flavor.batchedSwap({
    shardName,
    session,
    table: options.table,
    epochFence: statements.epochFence,
    updated: statements.updated,
  })

  async function pageOf(
    query: CompiledQuery,
    parameters: readonly unknown[],
    call: CallOptions | undefined,
  ): Promise<readonly EntityPageRow[]> {
    const { rows } = await session.run(query, parameters, reading(call))
    const selected = rows.map(selectedRow)
    const lengths = await lengthsOf(calls, selected, reading(call))
    return selected.map((row, i) => ({ ...boundedRow(row, lengths), addedId: toNumber(rows[i]!.added_id) }))
  }

  /** Returns the swap of one row. The number of changed rows tells whether it won, so it needs no `batchedSwap`. */
  function swapOne({ id, base, baseBody, version, body }: EntitySwap, epoch: number): BoundStatement {
    const comparesBody = baseBody !== undefined
    const query = session.shape(`replaceOne ${comparesBody}`, () => statements.replaceOne(comparesBody), {
      keep: 'common',
    })
    const compared = comparesBody ? [base, sumOfBody(baseBody)] : [base]
    return { query, parameters: [version, body, id, ...compared, epoch, ...sessionParameters], faults }
  }

  /** Number of coming inserts whose first try reads the floor. */
  let insertsAbove = 0

  function swap(rows: readonly EntitySwap[], epoch: number): readonly BoundStatement[] {
    if (rows.length === 1) return [swapOne(rows[0]!, epoch)]
    return swaps.statements(rows, [epoch, ...sessionParameters]).map((bound) => ({ ...bound, faults }))
  }

  /**
   * Returns the statements that come before the entities in their transaction. They come before, because a pooler may send a statement to
   * a session that never got the BEGIN:
   * 1. With the entities first, that session commits them at once.
   * 2. The index rows or the pending rows then fail, so the entities lack index rows and the cleaner is not told.
   * With the entities last, the worst result is a row too many. A row that loses its compare-and-swap leaves such rows as well; the
   * cleaner deletes them.
   */
  function beforeEntities(rows: readonly EntityInsert[]): readonly BoundStatement[] {
    const pending = rows.flatMap(({ id, version, deferred = NONE }) =>
      deferred.map((table) => ({ entityId: id, table, version })),
    )
    return [
      ...(pending.length === 0 ? NONE : [pendingUpsert(session, flavor, pending)]),
      ...localRows.before(rows),
    ]
  }

  /** Sends a statement that returns one row. Only that of the catalog may be missing. */
  async function readOne(
    kind: 'floor' | 'floorAndNewest' | 'lastAddedId' | 'extent' | 'count',
    call: CallOptions | undefined,
  ): Promise<Row> {
    const query = session.shape(kind, () => statements[kind]())
    const [row] = (await session.run(query, [], reading(call))).rows
    if (row !== undefined) return row
    throw new LooseleafError('NOT_MIGRATED', `${shardName}: the catalog has no row; create it first.`, {
      shard: shardName,
    })
  }

  return {
    ...createEntityCopies(options, calls),
    ...createEntityBatch(options, calls, { before: beforeEntities, after: localRows.after }),

    async read(ids, call) {
      const found = await select('read', ids, reading(call))
      return rowsOfIds(ids, found, entityRow)
    },

    async readBounded(ids, maxBody, call) {
      const found = await select('readBounded', ids, reading(call), [maxBody])
      const lengths = await lengthsOf(calls, found.values().map(selectedRow), reading(call))
      return rowsOfIds(ids, found, (row) => boundedRow(selectedRow(row), lengths))
    },

    async readVersions(ids, call) {
      const found = await select('readVersions', ids, reading(call))
      return rowsOfIds(ids, found, ({ version }) => toNumber(version))
    },

    async exist(ids, call) {
      const found = await select('exist', ids, reading(call))
      return ids.map((id) => found.has(idKey(id)))
    },

    async insert(rows, call: EpochWriteOptions) {
      if (rows.length === 0) return
      checkWriteRows(options.table, rows.length)
      const [first, ...rest] = sortedById(rows) as [EntityInsert, ...EntityInsert[]]
      const lowest = rows.reduce((version, row) => Math.min(version, row.version), first.version)
      const parameters: unknown[] = [
        first.id,
        ...sessionParameters,
        first.version,
        call.epoch,
        lowest,
        first.body,
      ]
      for (const { id, version, body } of rest) parameters.push(id, version, body)
      const before = beforeEntities(rows)
      const send = (readsFloor: boolean): Promise<unknown> => {
        const query = session.shape(
          `insert ${rows.length} ${readsFloor}`,
          () => statements.insert(rows.length, readsFloor),
          { keep: rows.length === 1 && !readsFloor ? 'common' : undefined },
        )
        return write([...before, { query, parameters, faults }], call)
      }
      if (insertsAbove > 0) {
        insertsAbove--
        await send(true)
        return
      }
      try {
        await send(false)
      } catch (error) {
        if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
        // If the epoch still fits, the floor is ahead of the clock: it was raised while the insert waited, or the clock was set back. Or a
        // purged tombstone may have had the version: then the second try fails too, and the next inserts need not read the floor.
        await refuseStaleEpoch(call.epoch, reading(call))
        await send(true)
        insertsAbove = INSERTS_ABOVE
      }
    },

    async replace(rows, call: EpochWriteOptions) {
      if (rows.length === 0) return []
      checkWriteRows(options.table, rows.length)
      const sorted = sortedById(rows)
      const before = beforeEntities(sorted)
      const swapped = swap(sorted, call.epoch)
      const answers = await write([...before, ...swapped, ...localRows.after(sorted)], call)
      const results = answers.slice(before.length, before.length + swapped.length)
      const won =
        sorted.length === 1 ? [toCount(results[0]!.numAffectedRows) === 1] : swaps.won(sorted, results)
      if (!won.includes(false)) return won
      // If no row won, other writers were faster, or the epoch is stale, which fails a statement as a whole.
      if (!won.includes(true)) await refuseStaleEpoch(call.epoch, reading(call))
      const winners = new Set(sorted.filter((_, i) => won[i]).map(({ id }) => idKey(id)))
      return rows.map(({ id }) => winners.has(idKey(id)))
    },

    async repairVersion(id, version, call) {
      const query = session.shape('repairVersion', () => statements.repairVersion())
      return toCount((await session.run(query, [version, id], writing(call))).numAffectedRows) > 0
    },

    pageByAdded: (after, limit, call) =>
      pageOf(
        session.shape('pageByAdded', () => statements.pageByAdded()),
        [maxBodyOf(call), after, limit],
        call,
      ),

    pageByUpdated({ since, before }, limit, call) {
      const place =
        before === undefined ? [] : [before.updated, before.updated, before.updated, before.addedId]
      const query = session.shape(`pageByUpdated ${before !== undefined}`, () =>
        statements.pageByUpdated(before !== undefined),
      )
      return pageOf(query, [maxBodyOf(call), since, ...place, limit], call)
    },

    async floor(call) {
      const row = await readOne('floor', call)
      return {
        floor: toNumber(row.floor),
        now: toNumber(row.now),
        epoch: toNumber(row.epoch),
        purged: { updated: toNumber(row.purged_updated), version: toNumber(row.purged_version) },
      }
    },

    async raiseFloor(call) {
      const raise = async (...past: readonly number[]): Promise<Row> => {
        const query = session.shape(`raiseFloor ${past.length}`, () => statements.raiseFloor(past.length > 0))
        await session.run(query, past, writing(call))
        return readOne('floorAndNewest', call)
      }
      const raised = await raise()
      const floor = toNumber(raised.floor)
      const newest = toNumber(raised.newest ?? 0)
      // A floor never falls: above a broken clock it would give every later write a time that cannot be read.
      const latest = Math.max(toNumber(raised.now), newest)
      if (latest > MAX_CLOCK_MICROS) throw badClock(`the server of ${shardName}`, latest / 1_000, shardName)
      // The row is from a time when the clock was ahead. Consumers would not get it until the clock reaches that time again.
      if (newest > Math.max(floor, toNumber(raised.now)) + AHEAD_MICROS)
        return toNumber((await raise(newest)).floor)
      return floor
    },

    pageOfChanges(range, limit, call) {
      const parts = rangeParts(range)
      const query = session.shape(`pageOfChanges ${parts.hasEnd} ${parts.inPartitions}`, () =>
        statements.pageOfChanges(parts),
      )
      return pageOf(query, [maxBodyOf(call), ...rangeParameters(range), limit], call)
    },

    async raisePurged({ updated, version }, call) {
      const query = session.shape('raisePurged', () => statements.raisePurged())
      const { numAffectedRows } = await session.run(query, [updated, version, call.epoch], writing(call))
      if (toCount(numAffectedRows) === 0) await refuseStaleEpoch(call.epoch, reading(call))
    },

    async purge(ids, call) {
      let purged = 0
      for (const chunk of idChunks(ids)) {
        const query = session.shape(`purge ${chunk.length}`, () => statements.purge(chunk.length))
        const result = await session.run(query, [...sessionParameters, ...chunk], writing(call))
        purged += toCount(result.numAffectedRows)
      }
      return purged
    },

    async lastAddedId(call) {
      const row = await readOne('lastAddedId', call)
      return toNumber(row.last_added_id ?? 0)
    },

    async extent(call) {
      const row = await readOne('extent', call)
      return { rows: toNumber(row.total), lastAddedId: toNumber(row.last_added_id ?? 0) }
    },

    async count(call) {
      const row = await readOne('count', call)
      const entities = toNumber(row.entities)
      return {
        entities,
        tombstones: toNumber(row.total) - entities,
        oldestTombstone: row.oldest_tombstone === null ? undefined : toNumber(row.oldest_tombstone),
      }
    },
  }
}

/** Inserts that read the floor after one that was refused for it. Behind a pooler each refused packet costs its connection. */
const INSERTS_ABOVE = 100

/** Times above the floor by up to this much belong to writes after its raise. Times further ahead come from a wrong clock. */
const AHEAD_MICROS = 1_000_000

const NONE: readonly never[] = []

function entityRow(row: Row): EntityRow {
  return {
    id: row.id as Uint8Array,
    version: toNumber(row.version),
    updated: toNumber(row.updated_micros),
    body: row.body as Uint8Array | null,
  }
}

function maxBodyOf({ maxBody = Number.MAX_SAFE_INTEGER }: PageOptions = {}): number {
  return maxBody
}
