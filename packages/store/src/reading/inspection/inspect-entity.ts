import {
  formatId,
  isLooseleafError,
  LooseleafError,
  parseId,
  type Bag,
  type CallOptions,
  type EntityId,
  type Shard,
} from '@looseleaf/core'
import {
  isUndecodable,
  platformTime,
  requireVersion,
  untilAborted,
  type BodyDescription,
  type CatalogEntry,
  type EntityRow,
  type IndexRow,
  type IndexState,
  type IndexTableSpec,
} from '@looseleaf/core/internal'
import { tableSpec, presentShards, type EngineContext } from '@looseleaf/index-engine/internal'
import { inspectedKey, rowIdentity, rowsToHave, type InspectedValue } from './inspected-keys.ts'

/** The stored row of an entity, and its index rows. */
export interface InspectedEntity {
  readonly id: EntityId
  /** The name of its shard. */
  readonly shard: string
  /** Undefined if the router has no buckets. */
  readonly bucket: number | undefined
  /** The row of the entity or tombstone; undefined if there is neither. */
  readonly stored: StoredEntity | undefined
  /** The index rows that the entity has to have, present or missing, and any other rows that are stored for it. */
  readonly rows: readonly InspectedRow[]
}

export interface StoredEntity {
  readonly version: number
  /** Time of writing, by the database's clock. */
  readonly updated: Date
  /** The stored bytes; null for a tombstone. */
  readonly body: Uint8Array | null
  /** The codec's description of the body; undefined if it gives none. */
  readonly layout: BodyDescription | undefined
  /** Undefined for a tombstone, and if the body cannot be read. */
  readonly bag: Bag | undefined
  /** Why it cannot be read. */
  readonly failure: LooseleafError | undefined
}

/** An index row or claim that is stored or that the entity has to have. */
export interface InspectedRow {
  readonly index: string
  readonly generation: number
  readonly table: string
  readonly state: IndexState
  /** The name of its shard. */
  readonly shard: string
  readonly isClaim: boolean
  readonly key: readonly InspectedValue[]
  /** Whether the stored entity has to have the row; undefined if its body cannot be read. */
  readonly isExpected: boolean | undefined
  /** The stamp of the row; undefined if the row is missing, or its shard has not answered. */
  readonly version: number | undefined
  /** The error of its shard, if that has not answered. */
  readonly failure: LooseleafError | undefined
  /** True if the entity was committed without this row, and a cleaner will write it (`onIndexFailure: 'defer'`). */
  readonly isPending: boolean
}

/** Looks at an entity until no write comes in between. */
const ATTEMPTS = 5

/** Milliseconds to wait for the rows of one shard. The rows of the other shards are shown without it. */
const ROWS_MS = 2_000

/**
 * Reads the stored row of an entity, and its index rows: those that it has to have by the current catalog, present or missing, and those
 * that it has lost. Asks every shard. A shard that does not answer leaves its rows unknown. Throws `BAD_ID`, and the errors of reading
 * the entity.
 */
export async function inspectEntity(
  context: EngineContext,
  id: EntityId,
  options: CallOptions = {},
): Promise<InspectedEntity> {
  const bytes = parseId(id)
  const { driver, router, catalog } = context
  const { indexes, placement } = await catalog.reload(options)
  const shard = driver.shards[placement.shardOfId(bytes)] as Shard
  const read = async (): Promise<EntityRow | undefined> => (await shard.entities.read([bytes], options))[0]
  let row = await read()
  for (let attempt = 1; ; attempt++) {
    const [found, pending] = await Promise.all([
      rowsOnShards(context, indexes, bytes, options),
      pendingTables(shard, bytes, indexes.length, options),
    ])
    // Rows are written before their entity and deleted after it. If two reads find one version, the rows read in between belong to it.
    const current = await read()
    if (current?.version !== row?.version && attempt < ATTEMPTS) {
      row = current
      continue
    }
    const stored = row && (await storedEntity(context, row, shard.name))
    return {
      id: formatId(bytes),
      shard: shard.name,
      bucket: router.buckets?.ofId(bytes),
      stored,
      rows: indexes.flatMap((entry, i) => inspectRows(context, entry, bytes, stored, i, found, pending)),
    }
  }
}

async function storedEntity(
  { codec, bodies }: EngineContext,
  { version, updated, body }: EntityRow,
  shard: string,
): Promise<StoredEntity> {
  const stored = { version, updated: new Date(updated / 1000), body }
  if (body === null) return { ...stored, layout: undefined, bag: undefined, failure: undefined }
  const layout = codec.describe?.(body)
  try {
    requireVersion(version)
    return { ...stored, layout, bag: await bodies.decode(body, shard), failure: undefined }
  } catch (error) {
    if (!isUndecodable(error)) throw error
    return { ...stored, layout, bag: undefined, failure: error }
  }
}

/** Returns the index tables with pending rows of an entity, which a cleaner will write. */
async function pendingTables(
  { pending }: Shard,
  entityId: Uint8Array,
  indexes: number,
  options: CallOptions,
): Promise<ReadonlySet<string>> {
  const rows = await pending.page({ after: { entityId, table: '' }, limit: indexes + 1 }, options)
  const ofEntity = rows.filter((row) => Buffer.compare(row.entityId, entityId) === 0)
  return new Set(ofEntity.map(({ table }) => table))
}

type FoundRows = readonly (readonly (readonly IndexRow[])[] | LooseleafError)[]

async function rowsOnShards(
  { driver }: EngineContext,
  indexes: readonly CatalogEntry[],
  id: Uint8Array,
  options: CallOptions,
): Promise<FoundRows> {
  const specs = indexes.map((entry) => tableSpec(entry))
  return Promise.all(
    presentShards(driver).map(async (shard) => {
      const late = platformTime.abortAfter(ROWS_MS)
      const signal = options.signal === undefined ? late : AbortSignal.any([options.signal, late])
      try {
        return await untilAborted(rowsOn(shard, specs, id, { ...options, signal }), signal)
      } catch (error) {
        if (options.signal?.aborted || !isLooseleafError(error)) throw error
        if (!late.aborted) return error
        const message = `${shard.name} has not answered within ${ROWS_MS / 1_000} seconds.`
        return new LooseleafError('DEADLINE', message, { shard: shard.name })
      }
    }),
  )
}

/** Reads the rows of an entity by index. An index without a table has none: it is being added or dropped. */
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
  entity: StoredEntity | undefined,
  place: number,
  found: FoundRows,
  pending: ReadonlySet<string>,
): readonly InspectedRow[] {
  const { name: index, generation, table, state, unique } = entry
  const bag = entity?.bag
  const expected = bag === undefined ? new Map<string, never>() : rowsToHave(context, entry, id, bag)
  const present = new Map(
    found.flatMap((lists, shard) =>
      isLooseleafError(lists)
        ? []
        : (lists[place] ?? []).map((row) => [rowIdentity(row.key, shard, id), { row, shard }] as const),
    ),
  )
  const keys = new Set([...expected.keys(), ...present.keys()])
  return Array.from(keys, (identity): InspectedRow => {
    const stored = present.get(identity)
    const { key, shard } = expected.get(identity) ?? { key: stored!.row.key, shard: stored!.shard }
    const answer = found[shard]
    return {
      index,
      generation,
      table,
      state,
      shard: context.driver.shards[shard]!.name,
      isClaim: unique === true,
      key: inspectedKey(entry, key),
      isExpected: entity?.failure === undefined ? expected.has(identity) : undefined,
      version: stored?.row.version,
      failure: isLooseleafError(answer) ? answer : undefined,
      isPending: stored === undefined && pending.has(table),
    }
  })
}
