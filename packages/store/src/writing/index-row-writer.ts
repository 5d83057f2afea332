import { isLooseleafError, LooseleafError, type CatalogEntry, type Key } from '@looseleaf/core'
import { shardOfRow, tableSpec, type EngineContext } from '@looseleaf/index-engine'
import type { IndexLanes, ShardLanes } from '../calls/shard-lanes.ts'

/** A row to be, before it has an entity and a version. */
export interface PlacedKey {
  readonly entry: CatalogEntry
  readonly key: Key
}

/** Rows of a table that could not be written. */
export interface RowFailure {
  readonly table: string
  readonly error: unknown
}

export interface IndexRowWriter {
  /** Law 1: when it resolves, every row is there with at least this version, but for those of the failures. */
  upsert(
    rows: readonly PlacedKey[],
    entityId: Uint8Array,
    version: number,
    signal?: AbortSignal,
  ): Promise<readonly RowFailure[]>
  /** Law 3: deletes the rows whose version is lower than this one. */
  remove(rows: readonly PlacedKey[], entityId: Uint8Array, before: number): Promise<void>
}

export function createIndexRowWriter(context: EngineContext, lanes: readonly ShardLanes[]): IndexRowWriter {
  /** Rows by the table that they go to: the rows of a call in one table take their turn together. */
  function byTable(rows: readonly PlacedKey[], entityId: Uint8Array): Iterable<TableRows> {
    const tables = new Map<IndexLanes, TableRows>()
    for (const { entry, key } of rows) {
      const shard = shardOfRow(entry, context.router, key, entityId)
      const lane = (lanes[shard] as ShardLanes).index(tableSpec(entry))
      const group = tables.get(lane)
      if (group === undefined) tables.set(lane, { entry, lane, keys: [key] })
      else group.keys.push(key)
    }
    return tables.values()
  }

  /** A process with an older catalog meets the index whose table has been dropped since: then nothing is to be done. */
  async function unlessDropped(entry: CatalogEntry, work: Promise<unknown>): Promise<void> {
    try {
      await work
    } catch (error) {
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
      const { indexes } = await context.catalog.reload()
      const state = indexes.find(({ table }) => table === entry.table)?.state
      if (state !== undefined && state !== 'retiring') throw error
    }
  }

  return {
    async upsert(rows, entityId, version, signal) {
      if (rows.length === 0) return []
      // All are waited for, so that no row of this attempt is still on its way when the call fails.
      const failures = await Promise.all(
        Array.from(
          byTable(rows, entityId),
          async ({ entry, lane, keys }): Promise<RowFailure | undefined> => {
            const work = lane.upsert.submitAll(
              keys.map((key) => ({ key, entityId, version })),
              signal,
            )
            try {
              await unlessDropped(entry, work)
              return undefined
            } catch (error) {
              return { table: entry.table, error: beforeCommit(error) }
            }
          },
        ),
      )
      return failures.filter((failure) => failure !== undefined)
    },
    async remove(rows, entityId, before) {
      await Promise.all(
        Array.from(byTable(rows, entityId), ({ entry, lane, keys }) =>
          unlessDropped(entry, lane.remove.submitAll(keys.map((key) => ({ key, entityId, before })))),
        ),
      )
    },
  }
}

/** Rows of one index on one shard. */
interface TableRows {
  readonly entry: CatalogEntry
  readonly lane: IndexLanes
  readonly keys: Key[]
}

/** Whether a row was written or not, the entity was not: a row too many is for the cleaner, and it may be written again. */
export function beforeCommit(error: unknown): unknown {
  if (!isLooseleafError(error) || !error.unknownOutcome) return error
  const code = error.code === 'OUTCOME_UNKNOWN' ? 'SHARD_UNAVAILABLE' : error.code
  return new LooseleafError(code, `${error.message} The entity was not written.`, {
    shard: error.shard,
    cause: error,
  })
}
