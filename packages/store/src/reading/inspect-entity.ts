import {
  formatId,
  isLooseleafError,
  LooseleafError,
  parseId,
  requireVersion,
  untilAborted,
  type Bag,
  type BodyDescription,
  type CallOptions,
  type CatalogEntry,
  type EntityId,
  type EntityRow,
  type IndexRow,
  type IndexTableSpec,
  type IndexState,
  type Shard,
  platformTime,
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
  /** The version that is stamped on it; undefined where it is absent, and where its shard does not say. */
  readonly version: number | undefined
  /** Why its shard does not say whether it is there. */
  readonly failure: LooseleafError | undefined
  /** It was committed without its row, which a cleaner writes (`onIndexFailure: 'defer'`). */
  readonly isPending: boolean
}

/** An entity that is written all the time is looked at so often. */
const ATTEMPTS = 5

/** What a shard has of an entity is waited for so many milliseconds, so that one that is silent takes nothing but its own rows away. */
const ROWS_MS = 2_000

/**
 * What is stored of an entity, and each of its index rows: those that it has to have by the catalog as it is now, present or absent,
 * and those that are there although it has lost them. Every shard is asked; of one that does not answer, no row is known. Throws `BAD_ID`,
 * and what reading the entity throws.
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
    const [found, pending] = await Promise.all([
      rowsOnShards(context, indexes, bytes, options),
      pendingTables(shard, bytes, indexes.length, options),
    ])
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
      rows: indexes.flatMap((entry, i) => inspectRows(context, entry, bytes, stored, i, found, pending)),
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

/** The index tables that lack rows of this version of an entity until a cleaner has written them. */
async function pendingTables(
  { pending }: Shard,
  entityId: Uint8Array,
  indexes: number,
  options: CallOptions,
): Promise<ReadonlySet<string>> {
  const rows = await pending.page({ after: { entityId, table: '' }, limit: indexes + 1 }, options)
  const own = rows.filter((row) => Buffer.compare(row.entityId, entityId) === 0)
  return new Set(own.map(({ table }) => table))
}

/** By shard: the rows of an entity there, by index, or why they are not known. */
type FoundRows = readonly (readonly (readonly IndexRow[])[] | LooseleafError)[]

async function rowsOnShards(
  { driver }: EngineContext,
  indexes: readonly CatalogEntry[],
  id: Uint8Array,
  options: CallOptions,
): Promise<FoundRows> {
  const specs = indexes.map((entry) => tableSpec(entry))
  return Promise.all(
    driver.shards.map(async (shard) => {
      const late = platformTime.abortAfter(ROWS_MS)
      const signal = options.signal === undefined ? late : AbortSignal.any([options.signal, late])
      try {
        return await untilAborted(rowsOn(shard, specs, id, { ...options, signal }), signal)
      } catch (error) {
        if (options.signal?.aborted || !isLooseleafError(error)) throw error
        if (!late.aborted) return error
        return new LooseleafError(
          'DEADLINE',
          `${shard.name} has not answered within ${ROWS_MS / 1_000} seconds.`,
          {
            shard: shard.name,
          },
        )
      }
    }),
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
  place: number,
  found: FoundRows,
  pending: ReadonlySet<string>,
): readonly InspectedRow[] {
  const { name: index, generation, table, state, unique } = entry
  const bag = stored?.bag
  const expected = bag === undefined ? new Map<string, never>() : rowsToHave(context, entry, id, bag)
  const there = new Map(
    found.flatMap((lists, shard) =>
      isLooseleafError(lists)
        ? []
        : (lists[place] ?? []).map((row) => [rowIdentity(row.key, shard, id), { row, shard }] as const),
    ),
  )
  const keys = new Set([...expected.keys(), ...there.keys()])
  return Array.from(keys, (identity): InspectedRow => {
    const own = there.get(identity)
    const { key, shard } = expected.get(identity) ?? { key: own!.row.key, shard: own!.shard }
    const answer = found[shard]
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
      failure: isLooseleafError(answer) ? answer : undefined,
      isPending: own === undefined && pending.has(table),
    }
  })
}
