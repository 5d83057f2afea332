import {
  badArgument,
  checkOptions,
  copyBag,
  isLooseleafError,
  isRecord,
  LooseleafError,
  metaOf,
  optionKinds,
  type Bag,
  type CallOptions,
  type Entity,
  type EntityId,
  type OptionKinds,
  isPromise,
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
import { toError, type Fate } from './fate.ts'
import { takeReference, takeValue } from './reference.ts'
import { readItem, versionOf, type Item, type Shape } from './shape.ts'
import { createUniqueCheck } from './unique-check.ts'

/** Writes under way at once: enough to fill the lanes of many shards. */
const CONCURRENCY = 512

const CALL: OptionKinds<CallOptions> = { signal: optionKinds.signal }
/** `parseId` of the store looks at ids. */
const NEW: OptionKinds<NewOptions> = { ...CALL, id: optionKinds.elsewhere }

type AnyItem = Item<object>

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
  insertMany(values: readonly object[], options?: CallOptions): Promise<Fate<AnyItem>[]>
  putMany(values: readonly object[], options?: CallOptions): Promise<Fate<AnyItem>[]>
  updateMany(of: readonly unknown[], change: unknown, options?: CallOptions): Promise<Fate<AnyItem>[]>
  deleteMany(of: readonly unknown[], options?: CallOptions): Promise<Fate<boolean>[]>
  changes(options?: ChangesOptions): AsyncIterable<ItemChange<object>>
  itemOf(entity: Entity): AnyItem | undefined
}

export function createEntities(
  store: DataStore,
  shape: Shape,
  indexes: readonly IndexDefinition[],
): UntypedEntities {
  const { name } = shape
  const requireUnique = createUniqueCheck(store, indexes)

  const notFound = (entity: EntityId): LooseleafError =>
    new LooseleafError('NOT_FOUND', `There is no ${name} ${entity}.`, { entity })

  const written = (bag: Bag, id: EntityId, version: number): AnyItem => shape.toItem({ ...bag, id }, version)

  async function insert(value: object, options: NewOptions = {}): Promise<AnyItem> {
    checkOptions('insert', options, NEW)
    const { id: given, signal } = options
    // A copy of an item that was read has its version too, which says nothing of a new one.
    const { id: own, properties } = takeValue('insert', value)
    return insertBag(copyBag(shape.toBag(properties)), given ?? own, signal)
  }

  async function insertBag(
    bag: Bag,
    given: EntityId | undefined,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    requireUnique()
    const { id, version } = await store.insert(bag, { ...idOf(given), signal })
    return written(bag, id, version)
  }

  /** Changes an entity that is of this kind, and of a shape that this program knows. */
  async function change(
    id: EntityId,
    ifVersion: number | undefined,
    decide: (bag: Bag) => Bag | typeof unchanged,
    signal: AbortSignal | undefined,
  ): Promise<AnyItem> {
    requireUnique()
    let last: Bag = {}
    const { version } = await store.update(
      id,
      (bag) => {
        if (!shape.isOf(bag)) throw notFound(id)
        shape.requireKnown(bag, id)
        const decided = decide(bag)
        last = decided === unchanged ? bag : decided
        return decided
      },
      { ...(ifVersion !== undefined && { ifVersion }), signal },
    )
    return written(last, id, version)
  }

  async function update(of: unknown, patch: unknown, options: CallOptions = {}): Promise<AnyItem> {
    checkOptions('update', options, CALL)
    const { id, version } = takeReference('update', of)
    const taken = typeof patch === 'function' ? undefined : takeValue('update', patch)
    if (taken?.id !== undefined && taken.id !== id) {
      throw new LooseleafError('BAD_ID', `The patch given for ${name} ${id} has another id.`, { entity: id })
    }
    // What is done to the patch later changes nothing of what is written.
    const given = taken && copyPatch(taken.properties)
    const patchOf = (shown: object): object | undefined =>
      unlessEmpty(given ?? checkPatch((patch as (shown: object) => unknown)(shown)))
    return change(
      id,
      version ?? taken?.version,
      (bag) => shape.patched(bag, patchOf, id) ?? unchanged,
      options.signal,
    )
  }

  async function put(value: object, options: NewOptions = {}): Promise<AnyItem> {
    checkOptions('put', options, NEW)
    const { id: given, signal } = options
    const { id: own, version, properties } = takeValue('put', value)
    const id = given ?? own
    const bag = copyBag(shape.toBag(properties))
    if (id === undefined) return insertBag(bag, id, signal)
    if (version !== undefined) return change(id, version, () => bag, signal)
    return orInsert(id, bag, () => change(id, undefined, () => bag, signal), signal)
  }

  /** Changes what is there, or inserts where nothing is, again and again while others do the same. */
  async function orInsert(
    id: EntityId,
    bag: Bag,
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
        return await insertBag(bag, id, signal)
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
    const bag = copyBag(shape.toBag(takeValue('upsert', value).properties))
    return orInsert(id, bag, () => update(id, patch, options), options.signal)
  }

  async function find(id: EntityId, options: GetOptions): Promise<Entity | undefined> {
    const entity = await store.get(id, options)
    return entity !== undefined && shape.isOf(entity) ? entity : undefined
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

  async function eachOf<In, Out>(
    call: string,
    given: readonly In[],
    work: (one: In) => Promise<Out>,
  ): Promise<Fate<Out>[]> {
    if (!Array.isArray(given)) throw badArgument(call, 'an array', given)
    const settle = async (one: In): Promise<Fate<Out>> => {
      try {
        return { ok: true, value: await work(one) }
      } catch (error) {
        return { ok: false, error: toError(error) }
      }
    }
    return store.holdOpen(() => pLimit(CONCURRENCY).map(given, settle))
  }

  return {
    get,
    exists: async (id, options = {}) => (await find(id, options)) !== undefined,
    async getMany(ids, options = {}) {
      const found = await store.getMany(ids, options)
      return found.map((entity) =>
        entity !== undefined && shape.isOf(entity) ? readItem(shape, entity) : undefined,
      )
    },
    insert,
    // Those of several calls are one to a store that is closed meanwhile.
    put: (value, options) => store.holdOpen(() => put(value, options)),
    update,
    upsert: (id, value, patch, options) => store.holdOpen(() => upsert(id, value, patch, options)),
    delete: (of, options) => store.holdOpen(() => remove(of, options)),
    insertMany: (values, options) => eachOf('insertMany', values, (value) => insert(value, options)),
    putMany: (values, options) => eachOf('putMany', values, (value) => put(value, options)),
    updateMany: (of, patch, options) => eachOf('updateMany', of, (one) => update(one, patch, options)),
    deleteMany: (of, options) => eachOf('deleteMany', of, (one) => remove(one, options)),
    changes: (options) => changesOf(store.changes(options), shape),
    itemOf(entity) {
      if (!isRecord(entity) || metaOf(entity as Entity) === undefined)
        throw badArgument('itemOf', 'an entity that a store has read', entity)
      return shape.isOf(entity) ? readItem(shape, entity) : undefined
    },
  }
}

async function* changesOf(
  changes: AsyncIterable<EntityChange>,
  shape: Shape,
): AsyncGenerator<ItemChange<object>, void, undefined> {
  for await (const change of changes) {
    const { id, version, updated, entity } = change
    if (entity !== undefined && !shape.isOf(entity)) continue
    const item = entity && readItem(shape, entity)
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

/** Undefined for `unchanged`: the entity is left as it is. */
function checkPatch(made: unknown): object | undefined {
  if (made === unchanged) return undefined
  if (typeof made === 'object' && made !== null && !isPromise(made)) return made
  throw badArgument(
    'update',
    'a function that returns the properties that change, or `unchanged` to leave the entity as it is',
    made,
  )
}

/** A patch that changes nothing writes nothing. */
const unlessEmpty = (patch: object | undefined): object | undefined =>
  patch !== undefined && Object.keys(patch).length === 0 ? undefined : patch

function copyPatch(patch: object): object {
  const copied = Object.entries(patch).map(([name, value]): [string, unknown] => [
    name,
    // What removes a property is no part of a bag.
    value === undefined ? undefined : copyBag({ [name]: value as unknown })[name],
  ])
  return Object.fromEntries(copied)
}

const idOf = (id: EntityId | undefined): { readonly id?: EntityId } => (id === undefined ? {} : { id })
