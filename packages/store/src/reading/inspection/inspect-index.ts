import { formatId, type Bag, type CallOptions, type EntityId, type Shard } from '@looseleaf/core'
import { isUndecodable, type BoundedRow, type CatalogEntry } from '@looseleaf/core/internal'
import { tableSpec, type EngineContext, type RowPlace } from '@looseleaf/index-engine/internal'
import { inspectedKey, rowIdentity, rowsToHave, type InspectedValue } from './inspected-keys.ts'

/** Selects index rows or claims of one shard. */
export interface IndexRowsToInspect {
  readonly entry: CatalogEntry
  readonly shard: number
  /** Selects the rows behind this one. Default: the first rows. */
  readonly after?: RowPlace | undefined
  readonly limit: number
}

export interface InspectedIndexRow {
  readonly key: readonly InspectedValue[]
  readonly entity: EntityId
  readonly version: number
  /** The current bag of the entity; undefined if it is deleted or cannot be read. */
  readonly bag: Bag | undefined
  /** Whether the entity has to have this row on this shard; undefined if its body cannot be read. */
  readonly isExpected: boolean | undefined
}

export interface InspectedIndexRows {
  readonly rows: readonly InspectedIndexRow[]
  /** Pass it as `after` for the next rows; undefined if there are none. */
  readonly next: RowPlace | undefined
}

/** Bytes of the largest body that is read. */
const MAX_BODY = 1024 * 1024

/** Reads the stored rows of an index table, each with the current state of its entity. Leaves out no row. */
export async function inspectIndexRows(
  context: EngineContext,
  { entry, shard, after, limit }: IndexRowsToInspect,
  options: CallOptions = {},
): Promise<InspectedIndexRows> {
  const table = (context.driver.shards[shard] as Shard).index(tableSpec(entry))
  const scan = { prefix: [], order: 'asc', limit: limit + 1, ...(after && { after }) } as const
  const found = await table.scan(scan, options)
  const rows = found.slice(0, limit)
  const ids = rows.map(({ entityId }) => entityId)
  const entities = await readEntities(context, ids, options)
  const inspected = rows.map(async ({ key, entityId, version }): Promise<InspectedIndexRow> => {
    const id = formatId(entityId)
    const stored = entities.get(id)
    const bag = stored?.body ? await decoded(context, stored.body, entityId) : undefined
    const isGone = stored === undefined || stored.body === null
    const belongs = (of: Bag): boolean =>
      rowsToHave(context, entry, entityId, of).has(rowIdentity(key, shard, entityId))
    const isExpected = bag === undefined ? (isGone ? false : undefined) : belongs(bag)
    return { key: inspectedKey(entry, key), entity: id, version, bag, isExpected }
  })
  return {
    rows: await Promise.all(inspected),
    next: found.length > limit ? rows.at(-1) : undefined,
  }
}

async function readEntities(
  { driver, catalog }: EngineContext,
  ids: readonly Uint8Array[],
  options: CallOptions,
): Promise<ReadonlyMap<EntityId, BoundedRow>> {
  const { placement } = catalog.current()
  const byShard = Map.groupBy(ids, (id) => placement.shardOfId(id))
  const pages = await Promise.all(
    Array.from(byShard, ([shard, shardIds]) =>
      (driver.shards[shard] as Shard).entities.readBounded(shardIds, MAX_BODY, options),
    ),
  )
  return new Map(pages.flat().flatMap((row) => (row === undefined ? [] : [[formatId(row.id), row]])))
}

async function decoded(
  { bodies, driver, catalog }: EngineContext,
  body: Uint8Array,
  id: Uint8Array,
): Promise<Bag | undefined> {
  try {
    return await bodies.decode(body, driver.shards[catalog.current().placement.shardOfId(id)]!.name)
  } catch (error) {
    if (!isUndecodable(error)) throw error
    return undefined
  }
}
