import {
  badArgument,
  checkOptions,
  isLooseleafError,
  isRecord,
  LooseleafError,
  metaOf,
  optionKinds,
  valuesOf,
  type Bag,
  type BulkOptions,
  type CallOptions,
  type Entity,
  type EntityId,
  type Fate,
  type OptionKinds,
} from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'
import {
  unchanged,
  type ChangesOptions,
  type DataStore,
  type EntityChange,
  type GetManyOptions,
  type ExistsOptions,
  type GetOptions,
} from '@looseleaf/store'
import pLimit from 'p-limit'
import type { ItemChange, NewOptions } from './collection.ts'
import { toError } from './fate.ts'
import { createExpiry } from './expiry.ts'
import { takePatch } from './patch.ts'
import { takeReference, takeValue } from './reference.ts'
import { readItem, versionOf, type Item, type Shape } from './shape.ts'
import { createUniqueCheck } from './unique-check.ts'

/** Writes under way at once: enough to fill the lanes of many shards. */
const CONCURRENCY = 512

const CALL: OptionKinds<CallOptions> = { signal: optionKinds.signal }
const BULK: OptionKinds<BulkOptions> = { ...CALL, fates: optionKinds.flag }
/** `parseId` of the store looks at ids. */
const NEW: OptionKinds<NewOptions> = { ...CALL, id: optionKinds.elsewhere }

type AnyItem = Item<object>
/** Fates where a call was asked for them. */
type FatesOr<T> = Fate<T>[] | T[]

/** What a collection does with single entities and with many of known ids. Nothing here is typed: the collection knows the types. */
export interface UntypedEntities {
  get(id: EntityId, options?: GetOptions): Promise<AnyItem | undefined>
  exists(id: EntityId, options?: ExistsOptions): Promise<boolean>
  getMany(ids: readonly EntityId[], options?: GetManyOptions): Promise<(AnyItem | undefined)[]>
  insert(value: object, options?: NewOptions): Promise<AnyItem>
  put(value: object, options?: NewOptions): Promise<AnyItem>
  update(of: unknown, change: unknown, options?: CallOptions): Promise<AnyItem>
  upsert(id: EntityId, value: object, patch: unknown, options?: CallOptions): Promise<AnyItem>
  delete(of: unknown, options?: CallOptions): Promise<boolean>
  insertMany(values: readonly object[], options?: BulkOptions): Promise<FatesOr<AnyItem>>
  putMany(values: readonly object[], options?: BulkOptions): Promise<FatesOr<AnyItem>>
  updateMany(of: readonly unknown[], change: unknown, options?: BulkOptions): Promise<FatesOr<AnyItem>>
  deleteMany(of: readonly unknown[], options?: BulkOptions): Promise<FatesOr<boolean>>
  changes(options?: ChangesOptions): AsyncIterable<ItemChange<object>>
  itemOf(entity: Entity): AnyItem | undefined
}

export function createEntities(
  store: DataStore,
  shape: Shape,
  indexes: readonly IndexDefinition[],
): UntypedEntities {
  const { name } = shape
  const { isThere, inPlaceOfExpired } = createExpiry(store, shape)
  const requireUnique = createUniqueCheck(store, shape, indexes)

  const notFound = (entity: EntityId): LooseleafError =>
    new LooseleafError('NOT_FOUND', `There is no ${name} ${entity}.`, { entity })

  const written = (bag: Bag, id: EntityId, version: number): AnyItem => shape.toItem({ ...bag, id }, version)

  async function insert(value: object, options: NewOptions = {}): Promise<AnyItem> {
    checkOptions('insert', options, NEW)
    const { id: given, signal } = options
    // An item that was read has a version, which says nothing of the new entity.
    const { id: own, version, properties } = takeValue('insert', value)
    const bag = shape.toBag(properties, { mayBeOutput: version !== undefined })(undefined)
    return insertBag(bag, given ?? own, signal)
  }

  async function insertBag(
    bag: Bag,
    given: EntityId | undefined,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    const looking = requireUnique()
    if (looking !== undefined) await looking
    const { id, version } = await inPlaceOfExpired(
      () => store.insert(bag, { ...idOf(given), signal }),
      signal,
    )
    return written(bag, id, version)
  }

  /** Changes an entity that is of this kind, and of a shape that this program knows. */
  async function change(
    id: EntityId,
    ifVersion: number | undefined,
    decide: (bag: Bag) => Bag | typeof unchanged,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    const looking = requireUnique()
    if (looking !== undefined) await looking
    let last: Bag = {}
    const attempt = (): ReturnType<DataStore['update']> =>
      store.update(
        id,
        (bag) => {
          if (!isThere(bag)) throw notFound(id)
          shape.requireKnown(bag, id)
          const decided = decide(bag)
          last = decided === unchanged ? bag : decided
          return decided
        },
        { ...(ifVersion !== undefined && { ifVersion }), signal },
      )
    const { version } = await inPlaceOfExpired(attempt, signal)
    return written(last, id, version)
  }

  async function update(of: unknown, patch: unknown, options: CallOptions = {}): Promise<AnyItem> {
    checkOptions('update', options, CALL)
    const { id, version } = takeReference('update', of)
    const { mayBeOutput, ...taken } = takePatch('update', patch)
    if (taken.id !== undefined && taken.id !== id) {
      throw new LooseleafError('BAD_ID', `The patch given for ${name} ${id} has another id.`, { entity: id })
    }
    const origin = { entity: id, mayBeOutput }
    return change(
      id,
      version ?? taken.version,
      (bag) => shape.patched(bag, taken.of, origin) ?? unchanged,
      options.signal,
    )
  }

  async function put(value: object, options: NewOptions = {}): Promise<AnyItem> {
    checkOptions('put', options, NEW)
    const { id: given, signal } = options
    const { id: own, version, properties } = takeValue('put', value)
    const id = given ?? own
    const origin = { entity: id, mayBeOutput: version !== undefined }
    const toBag = shape.toBag(properties, origin)
    if (id === undefined) return insertBag(toBag(undefined), id, signal)
    const changeIt = (): Promise<AnyItem> => change(id, version, toBag, signal)
    return version === undefined ? orInsert(id, () => toBag(undefined), changeIt, signal) : changeIt()
  }

  /** Changes what is there, or inserts where nothing is, again and again while others do the same. */
  async function orInsert(
    id: EntityId,
    toBag: () => Bag,
    changeIt: () => Promise<AnyItem>,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    for (;;) {
      try {
        return await changeIt()
      } catch (error) {
        if (!isLooseleafError(error, 'NOT_FOUND')) throw error
      }
      try {
        return await insertBag(toBag(), id, signal)
      } catch (error) {
        if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
        // One of another kind stays.
        const found = await store.get(id, { fresh: true, signal })
        if (found !== undefined && !shape.isOf(found)) throw error
      }
    }
  }

  async function upsert(
    id: EntityId,
    value: object,
    patch: unknown,
    options: CallOptions = {},
  ): Promise<AnyItem> {
    checkOptions('upsert', options, CALL)
    takePatch('upsert', patch)
    const { version, properties } = takeValue('upsert', value)
    const toBag = shape.toBag(properties, { entity: id, mayBeOutput: version !== undefined })
    return orInsert(
      id,
      () => toBag(undefined),
      () => update(id, patch, options),
      options.signal,
    )
  }

  async function find(id: EntityId, options: GetOptions): Promise<Entity | undefined> {
    const entity = await store.get(id, options)
    return entity !== undefined && isThere(entity) ? entity : undefined
  }

  async function get(id: EntityId, options: GetOptions = {}): Promise<AnyItem | undefined> {
    const entity = await find(id, options)
    return entity && readItem(shape, entity)
  }

  async function remove(of: unknown, options: CallOptions = {}): Promise<boolean> {
    checkOptions('delete', options, CALL)
    const { signal } = options
    const { id, version } = takeReference('delete', of)
    for (;;) {
      const found = await find(id, { fresh: true, signal })
      if (found === undefined) return false
      try {
        return await store.delete(id, { ifVersion: version ?? versionOf(found), signal })
      } catch (error) {
        // Whatever it is now may be of another kind.
        if (version !== undefined || !isLooseleafError(error, 'VERSION_MISMATCH')) throw error
      }
    }
  }

  /** `isRepeatable`: doing an item twice comes to the same as doing it once. */
  async function eachOf<In, Out>(
    call: string,
    given: readonly In[],
    options: BulkOptions = {},
    work: (one: In, options: CallOptions) => Promise<Out>,
    isRepeatable: (one: In) => boolean,
  ): Promise<FatesOr<Out>> {
    if (!Array.isArray(given)) throw badArgument(call, 'an array', given)
    checkOptions(call, options, BULK)
    const { fates: asFates = false, signal } = options
    const settle = async (one: In): Promise<Fate<Out>> => {
      try {
        return { ok: true, value: await work(one, { signal }) }
      } catch (error) {
        return { ok: false, error: toError(error) }
      }
    }
    const fates = await store.holdOpen(() => pLimit(CONCURRENCY).map(given, settle))
    return asFates ? fates : valuesOf(call, fates, (place) => isRepeatable(given[place] as In))
  }

  return {
    get,
    exists: async (id, options = {}) => (await find(id, options)) !== undefined,
    async getMany(ids, options = {}) {
      const found = await store.getMany(ids, options)
      return found.map((entity) =>
        entity !== undefined && isThere(entity) ? readItem(shape, entity) : undefined,
      )
    },
    insert,
    // Those of several calls are one to a store that is closed meanwhile.
    put: (value, options) => store.holdOpen(() => put(value, options)),
    update,
    upsert: (id, value, patch, options) => store.holdOpen(() => upsert(id, value, patch, options)),
    delete: (of, options) => store.holdOpen(() => remove(of, options)),
    insertMany: (values, options) => eachOf('insertMany', values, options, insert, () => false),
    putMany: (values, options) => eachOf('putMany', values, options, put, isSamePut),
    async updateMany(of, patch, options) {
      // A patch that is none is a mistake of the call, and no fate of its entities.
      takePatch('updateMany', patch)
      return eachOf(
        'updateMany',
        of,
        options,
        (one, each) => update(one, patch, each),
        (one) => typeof one === 'string' && isRecord(patch) && !('version' in patch),
      )
    },
    deleteMany: (of, options) => eachOf('deleteMany', of, options, remove, () => true),
    changes: (options) => changesOf(store.changes(options), shape, isThere),
    itemOf(entity) {
      if (!isRecord(entity) || metaOf(entity as Entity) === undefined)
        throw badArgument('itemOf', 'an entity that a store has read', entity)
      return isThere(entity) ? readItem(shape, entity) : undefined
    },
  }
}

/** Without an id it would be another entity the next time; with a version it would be refused. */
const isSamePut = (value: object): boolean =>
  isRecord(value) && value['id'] !== undefined && !('version' in value)

async function* changesOf(
  changes: AsyncIterable<EntityChange>,
  shape: Shape,
  isThere: (bag: Bag) => boolean,
): AsyncGenerator<ItemChange<object>, void, undefined> {
  for await (const change of changes) {
    const { id, version, updated, entity } = change
    if (entity !== undefined && !shape.isOf(entity)) continue
    // An entity that has expired is as good as deleted.
    const item = entity && isThere(entity) ? readItem(shape, entity) : undefined
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

const idOf = (id: EntityId | undefined): { readonly id?: EntityId } => (id === undefined ? {} : { id })
