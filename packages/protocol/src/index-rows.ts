import { isLooseleafError } from '@looseleaf/core'
import {
  getOrInsert,
  type CatalogEntry,
  type IndexRow,
  type IndexRowRemoval,
  type IndexTableSpec,
  type Key,
  type Lane,
} from '@looseleaf/core/internal'
import { shardsOfRow, tableSpec, type EngineContext, type Placement } from '@looseleaf/index-engine/internal'

/** Key of an index row or a claim, without its entity and version. */
export interface PlacedKey {
  readonly entry: CatalogEntry
  readonly key: Key
  /** Included bytes of a row of a covering index. */
  readonly included?: Uint8Array | null | undefined
}

/** Lanes of an index table on a shard. */
export interface RowLanes {
  readonly upsert: Pick<Lane<IndexRow, unknown>, 'submitAll'>
  readonly remove: Pick<Lane<IndexRowRemoval, unknown>, 'submitAll'>
}

/** Returns the lanes of a table, the same for the same table. */
export type RowLanesOf = (shard: number, spec: IndexTableSpec) => RowLanes

/** A failure to write or delete rows of a table. */
export interface RowFailure {
  readonly table: string
  readonly error: unknown
}

/**
 * Sends the rows of an entity's keys to all shards where they are written, grouped by table. Resolves with the failures when all rows have ended, so that none is in flight
 * afterwards.
 */
export async function sendByTable(
  context: EngineContext,
  lanesOf: RowLanesOf,
  placement: Placement,
  rows: readonly PlacedKey[],
  entityId: Uint8Array,
  send: (lanes: RowLanes, rows: readonly PlacedKey[]) => Promise<unknown>,
): Promise<readonly RowFailure[]> {
  const groups = new Map<RowLanes, PlacedKey[]>()
  for (const row of rows) {
    const { entry, key } = row
    const spec = tableSpec(entry)
    for (const shard of shardsOfRow(entry, placement, key, entityId))
      getOrInsert(groups, lanesOf(shard, spec), () => []).push(row)
  }
  const failures: RowFailure[] = []
  const sendGroup = async (lanes: RowLanes, group: readonly PlacedKey[]): Promise<void> => {
    const { entry } = group[0] as PlacedKey
    try {
      await send(lanes, group)
    } catch (error) {
      const failure = await failureUnlessDropped(context, entry, error)
      if (failure !== undefined) failures.push({ table: entry.table, ...failure })
    }
  }
  const sent: Promise<void>[] = []
  for (const [lanes, group] of groups) sent.push(sendGroup(lanes, group))
  // `sendGroup` never rejects, so none of these promises is unhandled.
  for (const each of sent) await each
  return failures
}

/**
 * Returns the failure of a statement on the table of this index. Undefined if the table is missing because the index is being dropped, which a
 * process with a stale catalog learns here: its rows are not needed any more. Never rejects.
 */
export async function failureUnlessDropped(
  { catalog }: EngineContext,
  { table }: CatalogEntry,
  error: unknown,
): Promise<{ readonly error: unknown } | undefined> {
  if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) return { error }
  try {
    const { indexes } = await catalog.reload()
    const state = indexes.find((entry) => entry.table === table)?.state
    return state === undefined || state === 'retiring' ? undefined : { error }
  } catch (reloadError) {
    return { error: reloadError }
  }
}
