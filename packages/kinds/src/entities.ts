import {
  isLooseleafError,
  LooseleafError,
  metaOf,
  type Bag,
  type BulkOptions,
  type CallOptions,
  type Entity,
  type EntityId,
  type Fate,
} from '@looseleaf/core'
import {
  badArgument,
  checkOptions,
  isRecord,
  lowerId,
  optionKinds,
  throwIfAborted,
  toError,
  untilSignal,
  valuesOf,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import {
  unchanged,
  type DataStore,
  type EntityChange,
  type GetOptions,
  type PartialEntities,
} from '@looseleaf/store'
import {
  optionsOf,
  type ExistsOptions,
  type GetManyOptions,
  type InsertOptions,
} from '@looseleaf/store/internal'
import pLimit from 'p-limit'
import { createBatchWrites, type BatchWrites } from './batch-writes.ts'
import type { ItemChange, ItemChangesOptions, NewOptions } from './collection.ts'
import type { OnWarning } from './fill-warning.ts'
import { createExpiry } from './expiry.ts'
import { createIntersect } from './intersect.ts'
import type { KindNear } from './near.ts'
import { parsePatch, parseUpdate } from './patch.ts'
import { createIds, type UntypedIds } from './place-ids.ts'
import { parseReference, parseValue } from './reference.ts'
import { readItem, versionOf, type Item, type Shape } from './shape.ts'
import { createUniqueCheck } from './unique-check.ts'

/** Largest number of writes in flight; enough to fill the lanes of many shards. */
const CONCURRENCY = 512

const CALL: OptionKinds<CallOptions> = { signal: optionKinds.signal }
const BULK: OptionKinds<BulkOptions> = { ...CALL, fates: optionKinds.flag }
/** `parseValue` checks the id. */
const NEW: OptionKinds<NewOptions> = { ...CALL, id: optionKinds.elsewhere }
const { kinds: _, ...changesOptions } = optionsOf.changes
const CHANGES: OptionKinds<ItemChangesOptions> = { ...CALL, ...changesOptions }

type AnyItem = Item<object>
/** Fates if the call has `{ fates: true }`. */
type FatesOr<T> = Fate<T>[] | T[]

/** The calls of a collection by id, for one entity and for many. Untyped: `Entities` adds the types. */
export interface UntypedEntities extends UntypedIds {
  get(id: EntityId, options?: GetOptions): Promise<AnyItem | undefined>
  exists(id: EntityId, options?: ExistsOptions): Promise<boolean>
  getMany(
    ids: readonly EntityId[],
    options?: GetManyOptions,
  ): Promise<(AnyItem | undefined)[] | PartialEntities<AnyItem>>
  insert(value: object, options?: NewOptions): Promise<AnyItem>
  put(value: object, options?: NewOptions): Promise<AnyItem>
  update(of: unknown, change: unknown, options?: CallOptions): Promise<AnyItem>
  upsert(id: EntityId, value: object, patch: unknown, options?: CallOptions): Promise<AnyItem>
  delete(of: unknown, options?: CallOptions): Promise<boolean>
  insertMany(values: readonly object[], options?: BulkOptions): Promise<FatesOr<AnyItem>>
  putMany(values: readonly object[], options?: BulkOptions): Promise<FatesOr<AnyItem>>
  updateMany(of: readonly unknown[], change: unknown, options?: BulkOptions): Promise<FatesOr<AnyItem>>
  deleteMany(of: readonly unknown[], options?: BulkOptions): Promise<FatesOr<boolean>>
  intersect: ReturnType<typeof createIntersect>
  changes(options?: ItemChangesOptions): AsyncIterable<ItemChange<object>>
  itemOf(entity: Entity): AnyItem | undefined
  readonly writes: BatchWrites<object, object>
}

export function createEntities(
  store: DataStore,
  shape: Shape,
  indexes: readonly IndexDefinition[],
  near: KindNear | undefined,
): UntypedEntities {
  const { name } = shape
  const { onWarning } = store.context
  const expiry = createExpiry(store, shape)
  const { isVisible, replaceExpired } = expiry
  const requireUnique = createUniqueCheck(store, shape, indexes)

  const notFound = (entity: EntityId): LooseleafError =>
    new LooseleafError('NOT_FOUND', `There is no ${name} ${entity}.`, { entity })

  const itemOfBag = (bag: Bag, id: EntityId, version: number): AnyItem =>
    shape.toItem({ ...bag, id }, version, onWarning)

  async function insert(value: object, options: NewOptions = {}): Promise<AnyItem> {
    checkOptions('insert', options, NEW)
    // An item may be inserted again; its version only tells that its values may be outputs of the schema.
    const { id, version, properties } = parseValue('insert', value, options.id)
    const bag = shape.toBag(properties, { mayBeOutput: version !== undefined })(undefined)
    return insertBag(bag, id, options.signal)
  }

  /** Returns the id that was given, or the place of a fresh one. An id that was given may be anywhere. */
  function idOrPlace(bag: Bag, id: EntityId | undefined): Pick<InsertOptions, 'id' | 'near'> {
    if (id !== undefined) return { id }
    return near === undefined ? {} : { near: near.placeOf(bag) }
  }

  async function insertBag(
    bag: Bag,
    givenId: EntityId | undefined,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    const checking = requireUnique()
    if (checking !== undefined) await checking
    const { id, version } = await replaceExpired(
      () => store.insert(bag, { ...idOrPlace(bag, givenId), signal }),
      signal,
    )
    return itemOfBag(bag, id, version)
  }

  /** Changes an entity. Throws unless it belongs to this kind and has a shape that this program knows. */
  async function change(
    id: EntityId,
    ifVersion: number | undefined,
    decide: (bag: Bag) => Bag | typeof unchanged,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    const checking = requireUnique()
    if (checking !== undefined) await checking
    let last: Bag = {}
    const attempt = (): ReturnType<DataStore['update']> =>
      store.update(
        id,
        (bag) => {
          if (!isVisible(bag)) throw notFound(id)
          shape.requireKnown(bag, id)
          const decided = decide(bag)
          last = decided === unchanged ? bag : decided
          return decided
        },
        { ...(ifVersion !== undefined && { ifVersion }), signal },
      )
    try {
      const { version } = await replaceExpired(attempt, signal)
      return itemOfBag(last, id, version)
    } catch (error) {
      throw isMissing(error, id) ? notFound(id) : error
    }
  }

  async function update(of: unknown, patch: unknown, options: CallOptions = {}): Promise<AnyItem> {
    checkOptions('update', options, CALL)
    const { id, ifVersion, edit } = parseUpdate(of, patch, shape)
    return change(id, ifVersion, edit, options.signal)
  }

  async function put(value: object, options: NewOptions = {}): Promise<AnyItem> {
    checkOptions('put', options, NEW)
    const { signal } = options
    const { id, version, properties } = parseValue('put', value, options.id)
    const origin = { entity: id, mayBeOutput: version !== undefined }
    const toBag = shape.toBag(properties, origin)
    if (id === undefined) return insertBag(toBag(undefined), id, signal)
    const replace = (): Promise<AnyItem> => change(id, version, toBag, signal)
    return version === undefined ? changeOrInsert(id, replace, () => toBag(undefined), signal) : replace()
  }

  /** Changes the entity if it exists, otherwise inserts it. Retries when another process inserts or deletes it first. */
  async function changeOrInsert(
    id: EntityId,
    changeEntity: () => Promise<AnyItem>,
    toBag: () => Bag,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    for (;;) {
      try {
        return await changeEntity()
      } catch (error) {
        if (!isLooseleafError(error, 'NOT_FOUND')) throw error
      }
      try {
        return await insertBag(toBag(), id, signal)
      } catch (error) {
        if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
        // An entity of another kind keeps its id.
        const found = await store.get(id, { fresh: true, signal })
        if (found !== undefined && !shape.isOf(found)) throw error
      }
    }
  }

  async function upsert(
    givenId: EntityId,
    value: object,
    patch: unknown,
    options: CallOptions = {},
  ): Promise<AnyItem> {
    checkOptions('upsert', options, CALL)
    parsePatch('upsert', patch, shape)
    const id = lowerId(givenId)
    const { version, properties } = parseValue('upsert', value)
    const toBag = shape.toBag(properties, { entity: id, mayBeOutput: version !== undefined })
    return changeOrInsert(
      id,
      () => update(id, patch, options),
      () => toBag(undefined),
      options.signal,
    )
  }

  async function find(id: EntityId, options: GetOptions): Promise<Entity | undefined> {
    const entity = await store.get(id, options)
    return entity !== undefined && isVisible(entity) ? entity : undefined
  }

  async function get(id: EntityId, options: GetOptions = {}): Promise<AnyItem | undefined> {
    const entity = await find(id, options)
    return entity && readItem(shape, entity, onWarning)
  }

  async function remove(of: unknown, options: CallOptions = {}): Promise<boolean> {
    checkOptions('delete', options, CALL)
    const { signal } = options
    const { id, version } = parseReference('delete', of)
    for (;;) {
      const found = await find(id, { fresh: true, signal })
      if (found === undefined) return false
      try {
        return await store.delete(id, { ifVersion: version ?? versionOf(found), signal })
      } catch (error) {
        // The entity has changed and may belong to another kind now, so the loop reads it again.
        if (version !== undefined || !isLooseleafError(error, 'VERSION_MISMATCH')) throw error
      }
    }
  }

  /** Does `work` for each item. `isRepeatable` tells whether work on an item is idempotent, so that the call may be retried. */
  async function eachOf<In, Out>(
    call: string,
    items: readonly In[],
    options: BulkOptions = {},
    work: (item: In, options: CallOptions) => Promise<Out>,
    isRepeatable: (item: In) => boolean,
  ): Promise<FatesOr<Out>> {
    if (!Array.isArray(items)) throw badArgument(call, 'an array', items)
    checkOptions(call, options, BULK)
    const { fates: asFates = false, signal } = options
    throwIfAborted(signal)
    const settle = async (item: In): Promise<Fate<Out>> => {
      try {
        return { ok: true, value: await work(item, { signal }) }
      } catch (error) {
        return { ok: false, error: toError(error) }
      }
    }
    const fates = await store.holdOpen(() => pLimit(CONCURRENCY).map(items, settle))
    return asFates ? fates : valuesOf(call, fates, (i) => isRepeatable(items[i] as In))
  }

  return {
    ...createIds(store, shape, near),
    writes: createBatchWrites({ shape, near, expiry, requireUnique, notFound, itemOfBag }),
    get,
    exists: async (id, options = {}) => (await find(id, options)) !== undefined,
    async getMany(ids, options = {}) {
      const itemsOf = (entities: readonly (Entity | undefined)[]): (AnyItem | undefined)[] =>
        entities.map((entity) =>
          entity !== undefined && isVisible(entity) ? readItem(shape, entity, onWarning) : undefined,
        )
      const found = await store.getMany(ids, options)
      return 'items' in found ? { ...found, items: itemsOf(found.items) } : itemsOf(found)
    },
    insert,
    // A call that takes several calls of the store holds it open, so that closing waits for all of them.
    put: (value, options) => store.holdOpen(() => put(value, options)),
    update,
    upsert: (id, value, patch, options) => store.holdOpen(() => upsert(id, value, patch, options)),
    delete: (of, options) => store.holdOpen(() => remove(of, options)),
    insertMany: (values, options) => eachOf('insertMany', values, options, insert, () => false),
    putMany: (values, options) => eachOf('putMany', values, options, put, isIdempotentPut),
    async updateMany(of, patch, options) {
      // An invalid patch rejects the whole call, before it becomes the fate of each entity.
      parsePatch('updateMany', patch, shape)
      return eachOf(
        'updateMany',
        of,
        options,
        (reference, callOptions) => update(reference, patch, callOptions),
        (reference) => typeof reference === 'string' && isRecord(patch) && !('version' in patch),
      )
    },
    deleteMany: (of, options) => eachOf('deleteMany', of, options, remove, () => true),
    intersect: createIntersect(store, shape, indexes),
    changes(options = {}) {
      checkOptions('changes', options, CHANGES)
      return untilSignal(
        () => options.signal,
        (signal) =>
          changesOf(store.changes({ ...options, signal, kinds: shape.names }), shape, isVisible, onWarning),
      )
    },
    itemOf(entity) {
      if (!isRecord(entity) || metaOf(entity as Entity) === undefined)
        throw badArgument('itemOf', 'an entity that a store has read', entity)
      return isVisible(entity) ? readItem(shape, entity, onWarning) : undefined
    },
  }
}

/** Tells whether a put may be retried. Without an id a retry would put another entity; with a version it would be refused. */
const isIdempotentPut = (value: object): boolean =>
  isRecord(value) && value['id'] !== undefined && !('version' in value)

async function* changesOf(
  changes: AsyncIterable<EntityChange>,
  shape: Shape,
  isVisible: (bag: Bag) => boolean,
  onWarning: OnWarning,
): AsyncGenerator<ItemChange<object>, void, undefined> {
  for await (const change of changes) {
    const { id, version, updated, entity } = change
    // An expired entity counts as deleted.
    const item = entity && isVisible(entity) ? readItem(shape, entity, onWarning) : undefined
    yield {
      id,
      version,
      updated,
      item,
      get cursor() {
        return change.cursor
      },
    }
  }
}

/** Tells whether an error says that this entity does not exist. A patch function may throw the error of another entity. */
const isMissing = (error: unknown, id: EntityId): boolean =>
  isLooseleafError(error, 'NOT_FOUND') && error.entity === id
