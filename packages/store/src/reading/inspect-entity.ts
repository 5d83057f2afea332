import {
  formatId,
  isLooseleafError,
  parseId,
  requireVersion,
  type Bag,
  type BodyDescription,
  type CallOptions,
  type CatalogEntry,
  type EntityId,
  type EntityRow,
  type IndexRow,
  type IndexTableSpec,
  type IndexState,
  type LooseleafError,
  type Shard,
} from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine'
import { inspectedKey, rowIdentity, rowsToHave, type InspectedValue } from './inspected-keys.ts'

/** What the databases hold of an entity. */
export interface InspectedEntity {
  readonly id: EntityId
  /** The name of its shard. */
  readonly shard: string
  /** Undefined where the router has no buckets. */
  readonly bucket: number | undefined
  /** Its row; undefined where there is none, not even a tombstone. */
  readonly stored: StoredEntity | undefined
  /** The index rows that it has to have, and those that are there beside them. */
  readonly rows: readonly InspectedRow[]
}

export interface StoredEntity {
  readonly version: number
  /** By the database's clock. */
  readonly updated: Date
  /** As it is stored; null for a tombstone. */
  readonly body: Uint8Array | null
  /** Undefined where the codec does not say. */
  readonly layout: BodyDescription | undefined
  /** Undefined for a tombstone, and for what cannot be read. */
  readonly bag: Bag | undefined
  /** Why it cannot be read. */
  readonly failure: LooseleafError | undefined
}

/** A row of an index, or a claim of a unique one, which is there or has to be. */
export interface InspectedRow {
  readonly index: string
  readonly generation: number
  readonly table: string
  readonly state: IndexState
  /** The name of the shard on which it is or has to be. */
  readonly shard: string
  readonly isClaim: boolean
  readonly key: readonly InspectedValue[]
  /** Whether the entity has to have it, as it is stored now; undefined where its body cannot be read. */
  readonly isExpected: boolean | undefined
  /** The version that is stamped on it; undefined where it is absent. */
  readonly version: number | undefined
}

/** An entity that is written all the time is looked at so often. */
const ATTEMPTS = 5

/**
 * What is stored of an entity, and each of its index rows: those that it has to have by the catalog as it is now, present or absent,
 * and those that are there although it has lost them. Every shard is asked. Throws `BAD_ID`, and what reading throws.
 */
export async function inspectEntity(
  context: EngineContext,
  id: EntityId,
  options: CallOptions = {},
): Promise<InspectedEntity> {
  const bytes = parseId(id)
  const { driver, router, catalog } = context
  const { indexes } = await catalog.reload(options)
  const shard = driver.shards[router.shardOfId(bytes)] as Shard
  const read = async (): Promise<EntityRow | undefined> => (await shard.entities.read([bytes], options))[0]
  let row = await read()
  for (let attempt = 1; ; attempt++) {
    const found = await rowsOnShards(context, indexes, bytes, options)
    // Rows are written before their entity, and deleted after it: what was read between two readings of one version belongs to it.
    const again = await read()
    if (again?.version !== row?.version && attempt < ATTEMPTS) {
      row = again
      continue
    }
    const stored = row && storedEntity(context, row)
    return {
      id: formatId(bytes),
      shard: shard.name,
      bucket: router.buckets?.ofId(bytes),
      stored,
      rows: indexes.flatMap((entry, i) => inspectRows(context, entry, bytes, stored, found[i] ?? [])),
    }
  }
}

function storedEntity({ codec }: EngineContext, { version, updated, body }: EntityRow): StoredEntity {
  const stored = { version, updated: new Date(updated / 1000), body }
  if (body === null) return { ...stored, layout: undefined, bag: undefined, failure: undefined }
  const layout = codec.describe?.(body)
  try {
    requireVersion(version)
    return { ...stored, layout, bag: codec.decode(body), failure: undefined }
  } catch (error) {
    if (!isLooseleafError(error)) throw error
    return { ...stored, layout, bag: undefined, failure: error }
  }
}

interface RowOnShard {
  readonly shard: number
  readonly row: IndexRow
}

/** The rows of an entity, by index. */
async function rowsOnShards(
  { driver }: EngineContext,
  indexes: readonly CatalogEntry[],
  id: Uint8Array,
  options: CallOptions,
): Promise<readonly (readonly RowOnShard[])[]> {
  const specs = indexes.map((entry) => tableSpec(entry))
  const found = await Promise.all(driver.shards.map((shard) => rowsOn(shard, specs, id, options)))
  return specs.map((_, i) =>
    found.flatMap((lists, shard) => (lists[i] ?? []).map((row): RowOnShard => ({ shard, row }))),
  )
}

/** None of an index whose table is not there: it comes or goes just now. */
async function rowsOn(
  shard: Shard,
  specs: readonly IndexTableSpec[],
  id: Uint8Array,
  options: CallOptions,
): Promise<readonly (readonly IndexRow[])[]> {
  try {
    return await shard.rowsOf(specs, [id], options)
  } catch (error) {
    if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
    if (specs.length === 1) return [[]]
    return (await Promise.all(specs.map((spec) => rowsOn(shard, [spec], id, options)))).flat()
  }
}

function inspectRows(
  context: EngineContext,
  entry: CatalogEntry,
  id: Uint8Array,
  stored: StoredEntity | undefined,
  found: readonly RowOnShard[],
): readonly InspectedRow[] {
  const { name: index, generation, table, state, unique } = entry
  const bag = stored?.bag
  const expected = bag === undefined ? new Map<string, never>() : rowsToHave(context, entry, id, bag)
  const there = new Map(found.map((one) => [rowIdentity(one.row.key, one.shard, id), one]))
  const keys = new Set([...expected.keys(), ...there.keys()])
  return Array.from(keys, (identity): InspectedRow => {
    const own = there.get(identity)
    const { key, shard } = expected.get(identity) ?? { key: own!.row.key, shard: own!.shard }
    return {
      index,
      generation,
      table,
      state,
      shard: context.driver.shards[shard]!.name,
      isClaim: unique === true,
      key: inspectedKey(entry, key),
      isExpected: stored?.failure === undefined ? expected.has(identity) : undefined,
      version: own?.row.version,
    }
  })
}
