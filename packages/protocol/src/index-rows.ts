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
      await send(lanes, group)
    } catch (error) {
      const failure = await unlessDropped(context, entry, error)
      if (failure !== undefined) failures.push({ table: entry.table, ...failure })
    }
  }
  const sent: Promise<void>[] = []
  for (const [lanes, group] of groups) sent.push(sendGroup(lanes, group))
  // None of them rejects.
  for (const each of sent) await each
  return failures
}

/**
 * What has failed, by the error of work on the table of this index: nothing where the table is missing because its index is on its
 * way out. A process with an older catalog meets that here, and nothing is to be done. Never rejects.
 */
export async function unlessDropped(
  { catalog }: EngineContext,
  { table }: CatalogEntry,
  error: unknown,
): Promise<{ readonly error: unknown } | undefined> {
  if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) return { error }
  try {
    const { indexes } = await catalog.reload()
    const state = indexes.find((entry) => entry.table === table)?.state
    return state === undefined || state === 'retiring' ? undefined : { error }
  } catch (notRead) {
    return { error: notRead }
  }
}
