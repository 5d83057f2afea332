import { parseId, type Bag, type CallOptions, type EntityId } from '@looseleaf/core'
import { optionKinds, withCallbacks, type OptionKinds } from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import {
  bucketOfRow,
  bucketsOf,
  deriveRows,
  placeOfNear,
  shardsOfRow,
  type EngineContext,
  type Placement,
  type PlaceFunctions,
} from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { checkCall } from './check-call.ts'
import type { AnyKind } from './define-kind.ts'
import type { KindNear } from './near.ts'

export interface CountNearOptions extends CallOptions {
  /** Called after every 1,000 entities with the number of entities read. */
  readonly onProgress?: ((scanned: number) => void) | undefined
  /** Called with the id and the kind of each entity that is not at the place of its property. */
  readonly onElsewhere?: ((id: EntityId, kind: string) => void) | undefined
}

/** Entities of a kind by their places. */
export interface KindPlaces {
  /** The path in the kind's option `near`; undefined without. */
  readonly near: string | undefined
  readonly entities: number
  /** Entities in the bucket of their property. 0 without `near`. */
  readonly atPlace: number
  /** Entities in another bucket. Their rows in indexes sharded on the property are far. 0 without `near`. */
  readonly elsewhere: number
  /** Entities without the property, or with one of another type: no bucket is theirs. 0 without `near`. */
  readonly withoutPlace: number
  /** Rows that the entities should have in the indexes of the kind, by the name of the index in the store. */
  readonly indexes: {
    readonly [index: string]: {
      readonly rows: number
      /** Rows in the bucket of their entity, with which they move and are written. */
      readonly near: number
      /** Rows that are on the shard of their entity alone, so that a page reads them together with it. Near rows are, unless their bucket moves. */
      readonly local: number
    }
  }
}

export interface NearCounts {
  /** Entities of the store that were read, of every kind. */
  readonly scanned: number
  /** By the name of the kind. */
  readonly kinds: Readonly<Record<string, KindPlaces>>
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }
type CountedRows = Writable<KindPlaces['indexes'][string]>
type Counted = Writable<Omit<KindPlaces, 'indexes'>> & {
  readonly indexes: Record<string, CountedRows>
}

const KNOWN: OptionKinds<CountNearOptions> = {
  signal: optionKinds.signal,
  onProgress: optionKinds.function,
  onElsewhere: optionKinds.function,
}

const PROGRESS_EVERY = 1_000

/**
 * Counts the entities of these kinds that are where their option `near` says, and the index rows that are in the bucket of their entity. Reads
 * the whole store and changes nothing. Counts stored entities, expired ones included, and leaves out those that cannot be decoded. An entity
 * whose bucket moves meanwhile may be counted twice. Throws `BAD_OPTION` for bad arguments, and for two kinds with the same name.
 */
export async function countNear(
  store: DataStore,
  kinds: readonly AnyKind[],
  options: CountNearOptions = {},
): Promise<NearCounts> {
  checkCall('countNear', store, kinds, options, KNOWN)
  return withCallbacks(options, (wrapped) => count(store, kinds, wrapped))
}

async function count(
  store: DataStore,
  kinds: readonly AnyKind[],
  { signal, onProgress, onElsewhere }: CountNearOptions,
): Promise<NearCounts> {
  const places = placesOf(store.context)
  const counted = new Map(kinds.map((kind) => [kind, emptyCounts(kind)]))
  let scanned = 0
  for await (const { id, ...bag } of store.scan({ signal, onDamaged: () => {} })) {
    if (++scanned % PROGRESS_EVERY === 0) onProgress?.(scanned)
    const kind = kinds.find(({ shape }) => shape.isOf(bag))
    if (kind === undefined) continue
    const bytes = parseId(id)
    const counts = counted.get(kind)!
    counts.entities++
    const { placement } = store.context.catalog.current()
    for (const index of kind.indexes)
      countRows(index, bag, bytes, places, placement, counts.indexes[index.name]!)
    const found = kind.near && placeOfEntity(kind.near, bag, bytes, places)
    if (found !== undefined) counts[found]++
    if (found === 'elsewhere') onElsewhere?.(id, kind.name)
  }
  return { scanned, kinds: Object.fromEntries(kinds.map((kind) => [kind.name, counted.get(kind)!])) }
}

/** Returns the bucket of ids and keys, or the shard for a router without buckets. */
function placesOf({ router, catalog }: EngineContext): PlaceFunctions<number> {
  const { placement } = catalog.current()
  return bucketsOf(router) ?? { ofId: placement.shardOfId, ofKey: placement.rows.readOfKey }
}

function emptyCounts({ near, indexes }: AnyKind): Counted {
  return {
    near: near?.path,
    entities: 0,
    atPlace: 0,
    elsewhere: 0,
    withoutPlace: 0,
    indexes: Object.fromEntries(indexes.map(({ name }) => [name, { rows: 0, near: 0, local: 0 }])),
  }
}

function placeOfEntity(
  near: KindNear,
  bag: Bag,
  id: Uint8Array,
  places: PlaceFunctions<number>,
): 'atPlace' | 'elsewhere' | 'withoutPlace' {
  const place = near.placeIfAny(bag)
  if (place === undefined) return 'withoutPlace'
  return placeOfNear(place, places) === places.ofId(id) ? 'atPlace' : 'elsewhere'
}

function countRows(
  index: IndexDefinition,
  bag: Bag,
  id: Uint8Array,
  places: PlaceFunctions<number>,
  placement: Placement,
  counts: CountedRows,
): void {
  const [bucket, shard] = [places.ofId(id), placement.shardOfId(id)]
  for (const key of deriveRows(index, bag).keys) {
    counts.rows++
    if (bucketOfRow(index, places, key, id) === bucket) counts.near++
    if (shardsOfRow(index, placement, key, id).every((each) => each === shard)) counts.local++
  }
}
