import {
  isLooseleafError,
  type CatalogEntry,
  type IndexRow,
  type IndexRowRemoval,
  type IndexTableSpec,
  type Key,
  type Lane,
} from '@looseleaf/core'
import { shardOfRow, tableSpec, type EngineContext } from '@looseleaf/index-engine'

/** A row to be, or a claim, before it has an entity and a version. */
export interface PlacedKey {
  readonly entry: CatalogEntry
  readonly key: Key
  /** What the row holds besides, where its index is covering. */
  readonly included?: Uint8Array | null | undefined
}

/** The lanes of an index table on a shard. */
export interface RowLanes {
  readonly upsert: Pick<Lane<IndexRow, unknown>, 'submitAll'>
  readonly remove: Pick<Lane<IndexRowRemoval, unknown>, 'submitAll'>
}

/** The same ones for the same table. */
export type RowLanesOf = (shard: number, spec: IndexTableSpec) => RowLanes

/** Rows of a table that could not be written, or deleted. */
export interface RowFailure {
  readonly table: string
  readonly error: unknown
}

/**
 * Sends the rows of an entity's keys, those of one table together. All are waited for, so that none is still on its way
 * afterwards; answers what went wrong.
 */
export async function sendByTable(
  context: EngineContext,
  lanesOf: RowLanesOf,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  send: (lanes: RowLanes, rows: readonly PlacedKey[]) => Promise<unknown>,
): Promise<readonly RowFailure[]> {
  const groups = new Map<RowLanes, PlacedKey[]>()
  for (const row of rows) {
    const { entry, key } = row
    const lanes = lanesOf(shardOfRow(entry, context.router, key, entityId), tableSpec(entry))
    const group = groups.get(lanes)
    if (group === undefined) groups.set(lanes, [row])
    else group.push(row)
  }
  const failures: RowFailure[] = []
  const sendGroup = async (lanes: RowLanes, group: readonly PlacedKey[]): Promise<void> => {
    const { entry } = group[0] as PlacedKey
    try {
      await unlessDropped(context, entry, send(lanes, group))
    } catch (error) {
      failures.push({ table: entry.table, error })
    }
  }
  const sent: Promise<void>[] = []
  for (const [lanes, group] of groups) sent.push(sendGroup(lanes, group))
  // None of them rejects.
  for (const each of sent) await each
  return failures
}

/**
 * The same work, which rejects as it does. But that a table is missing is nothing where its index is on its way out: a process with an
 * older catalog meets that here, and nothing is to be done.
 */
export function unlessDropped(
  { catalog }: EngineContext,
  { table }: CatalogEntry,
  work: Promise<unknown>,
): Promise<unknown> {
  return work.catch(async (error: unknown) => {
    if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
    const { indexes } = await catalog.reload()
    const state = indexes.find((entry) => entry.table === table)?.state
    if (state !== undefined && state !== 'retiring') throw error
  })
}
