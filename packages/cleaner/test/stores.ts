import {
  formatId,
  parseId,
  type Driver,
  type DriverFactory,
  type IndexDefinitionData,
  type Observer,
  type Router,
  type Time,
} from '@looseleaf/core'
import type { CatalogEntry, IndexRow, IndexTable } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import {
  defineIndex,
  type IndexDefinition,
  type IndexedEntity,
  type IndexProperties,
  type Where,
} from '@looseleaf/index-engine'
import {
  deriveRows,
  keyIdentity,
  shardOfRow,
  tableSpec,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { DataStore } from '@looseleaf/store'

/** An index whose rows are usually on another shard than their entity. */
export const byUser = defineIndex('by_user', {
  properties: { user_id: 'string', published: 'integer' },
  shardOn: 'user_id',
  onMisfit: 'skip',
})
/** An index with many rows per entity, on the entity's shard. */
export const byTag = defineIndex('by_tag', {
  properties: { tags: 'string[]' },
  shardOn: 'id',
  onMisfit: 'skip',
})

/** Short, because sweeps wait until queries in flight have ended. */
export const QUERY_TIME_MS = 10

/** Returns a factory for open shards, so that several stores, like several processes, can share a driver. */
export function shared(driver: Driver): DriverFactory {
  return { shardCount: driver.shards.length, connect: async () => driver }
}

export interface OpenOptions {
  readonly driver?: Driver
  readonly shards?: number
  readonly time?: Time
  readonly migrate?: boolean
  readonly indexes?: readonly IndexDefinitionData[]
  readonly onIndexFailure?: 'fail' | 'defer'
  readonly onWarning?: (message: string) => unknown
  readonly observer?: Observer
  readonly router?: Router
}

/** Returns the context with this `deleteDelayMs`, regardless of the store's policies. */
export function withDeleteDelay(context: EngineContext, deleteDelayMs: number): EngineContext {
  const { catalog } = context
  const current: typeof catalog.current = () => {
    const now = catalog.current()
    return { ...now, policies: { ...now.policies, deleteDelayMs } }
  }
  return { ...context, catalog: { ...catalog, current } }
}

/** Opens a store on SQLite in memory, or on this driver. */
export async function openStore(options: OpenOptions = {}): Promise<DataStore> {
  const { driver, shards, ...given } = options
  const used = driver ?? (await memoryShards(shards ?? 2).connect())
  return DataStore.open({
    shards: shared(used),
    indexes: [byUser, byTag],
    migrate: true,
    queryTimeMs: QUERY_TIME_MS,
    ...given,
  })
}

export function entryOf(store: DataStore, name: string): CatalogEntry {
  const entry = store.context.catalog.current().indexes.findLast((index) => index.name === name)
  if (entry === undefined) throw new Error(`No index ${name}.`)
  return entry
}

export function tableOf(store: DataStore, name: string, shard: number): IndexTable {
  const ofShard = store.context.driver.shards[shard]
  if (ofShard === undefined) throw new Error(`No shard ${shard}.`)
  return ofShard.index(tableSpec(entryOf(store, name)))
}

/** Returns every row of an index as text, with its shard, key and entity, sorted. */
export async function rowsIn(store: DataStore, name: string): Promise<string[]> {
  const rows: string[] = []
  for (const [shard] of store.context.driver.shards.entries()) {
    const page = await tableOf(store, name, shard).scan({ prefix: [], order: 'asc', limit: 100_000 })
    rows.push(...page.map((row) => rowText(shard, row)))
  }
  return rows.toSorted()
}

/** Returns the expected result of `rowsIn`, computed from all entities. */
export async function expectedRows(store: DataStore, name: string): Promise<string[]> {
  const entry = entryOf(store, name)
  const rows: string[] = []
  for await (const { id, ...bag } of store.scan()) {
    const entityId = parseId(id)
    for (const key of deriveRows(entry, bag).keys) {
      rows.push(
        rowText(shardOfRow(entry, store.context.catalog.current().placement, key, entityId), {
          key,
          entityId,
        }),
      )
    }
  }
  return rows.toSorted()
}

function rowText(shard: number, { key, entityId }: Pick<IndexRow, 'key' | 'entityId'>): string {
  return `${shard} ${formatId(entityId)} ${keyIdentity(key)}`
}

/** Returns the row of this bag in an index, and its right shard. */
export function rowFor(
  store: DataStore,
  name: string,
  id: string,
  bag: Record<string, string | number | string[]>,
  version: number,
): { readonly shard: number; readonly row: IndexRow } {
  const entry = entryOf(store, name)
  const [key] = deriveRows(entry, bag).keys
  if (key === undefined) throw new Error('This bag gives no row.')
  const entityId = parseId(id)
  return {
    shard: shardOfRow(entry, store.context.catalog.current().placement, key, entityId),
    row: { key, entityId, version },
  }
}

export async function addRow(
  store: DataStore,
  name: string,
  { shard, row }: ReturnType<typeof rowFor>,
): Promise<void> {
  await tableOf(store, name, shard).upsert([row])
}

export async function removeRow(
  store: DataStore,
  name: string,
  { shard, row }: ReturnType<typeof rowFor>,
): Promise<void> {
  await tableOf(store, name, shard).remove([{ ...row, before: Number.MAX_SAFE_INTEGER }])
}

/** Queries an index. Unlike `getAll`, it does not reject on a busy machine with a query time as short as here. */
export async function found<const P extends IndexProperties>(
  store: DataStore,
  index: IndexDefinition<P>,
  where: Where<P>,
): Promise<readonly IndexedEntity<P>[]> {
  const { items } = await store.query(index, where, { limit: 1_000 })
  return items
}
