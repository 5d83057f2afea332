import type { CallOptions, Entity, EntityId, Fate, FateOptions, ValueOptions } from '@looseleaf/core'
import type {
  GetAllOptions,
  IndexDefinition,
  IndexProperties,
  QueryCost,
  QueryOptions,
} from '@looseleaf/index-engine'
import type {
  ChangesOptions,
  CountOptions,
  DataStore,
  EntityChange,
  ExplainOptions,
  GetManyOptions,
  ExistsOptions,
  GetOptions,
  IdPage,
  ListCost,
  ListOptions,
  QueryIdsOptions,
  QueryExplanation,
  QueryManyOptions,
  unchanged,
} from '@looseleaf/store'
import type { KeysOf } from './checked-index.ts'
import type { CheckedWhere, CheckedWheres } from './checked-where.ts'
import type { Reference } from './reference.ts'
import type { SchemaInput, SchemaOutput, Schema } from './schema.ts'
import type { Item } from './shape.ts'
import type { unset } from './unset.ts'
import type { ChangeWhereOptions, ChangedWhere } from './where-changes.ts'
import type { PropertiesOf } from './where.ts'

/**
 * The properties that change. `unset` removes one that is optional, and undefined is refused; names that are not there stay as they
 * are stored.
 */
export type Changes<T> = {
  readonly [K in keyof T]?:
    | Exclude<T[K], undefined>
    | (Record<never, never> extends Pick<T, K> ? typeof unset : undefined extends T[K] ? typeof unset : never)
}

/**
 * The properties that change, or a whole value such as an item that was read; or a function that makes them of the entity. The function
 * may be called several times, and returns `unchanged` to leave the entity as it is.
 */
export type Patch<T> = Changes<T> | T | ((now: T) => Changes<T> | T | typeof unchanged)

export interface NewOptions extends CallOptions {
  /** Default: the value's own, or a fresh one. */
  readonly id?: EntityId | undefined
}

/**
 * The entities of one kind in a store. What is read has the kind's type, its id and its version; entities of other kinds are not
 * there. What was read may be given to `update`, `put` and `delete`, which then refuse with `VERSION_MISMATCH` where somebody
 * else has written meanwhile. `In` is what is written, `Out` what is read, without id and version.
 */
export interface Entities<In, Out> {
  /** Returns the item of this id; undefined where there is none, or an entity of another kind. */
  get(id: EntityId, options?: GetOptions): Promise<Item<Out> | undefined>
  /** Whether there is one of this kind; it is read, and not checked. */
  exists(id: EntityId, options?: ExistsOptions): Promise<boolean>
  /** In the order of the ids, undefined where there is none. */
  getMany(ids: readonly EntityId[], options?: GetManyOptions): Promise<(Item<Out> | undefined)[]>
  /** Writes one that must not be there yet; `ALREADY_EXISTS` otherwise. */
  insert(value: In, options?: NewOptions): Promise<Item<Out>>
  /** Writes one whole, whatever was under its id before. With a version, as an item has it, only if that is still its version. */
  put(
    value: In & { readonly id?: EntityId; readonly version?: number | string },
    options?: NewOptions,
  ): Promise<Item<Out>>
  /**
   * Changes some properties, again and again until no other write came between; of `{ id, version }`, or of an item, only if that
   * is still its version. Properties that only a newer program knows stay, with the thing that they
   * are of. Values that are stored are not put through the schema
   * again where it would change them. `NOT_FOUND` where there is none of this kind; `BAD_PROPERTY` for a value that is undefined.
   */
  update(of: Reference, patch: Patch<Out>, options?: CallOptions): Promise<Item<Out>>
  /** Inserts the value where there is none of this id, or changes the one that is there. */
  upsert(id: EntityId, value: In, patch: Patch<Out>, options?: CallOptions): Promise<Item<Out>>
  /** Answers whether it was there. */
  delete(of: Reference, options?: CallOptions): Promise<boolean>
  /**
   * Inserts many at once, and answers with the items in the order of the values. A value that fails does not keep the others: all are
   * tried, and then the call rejects with `SOME_FAILED`, which has the `fates` of all of them. With `{ fates: true }` it resolves
   * with these. So do `putMany`, `updateMany` and `deleteMany`.
   */
  insertMany(
    values: readonly (In & { readonly id?: EntityId })[],
    options: FateOptions,
  ): Promise<Fate<Item<Out>>[]>
  insertMany(
    values: readonly (In & { readonly id?: EntityId })[],
    options?: ValueOptions,
  ): Promise<Item<Out>[]>
  /** Puts many at once; fails as `insertMany` does. */
  putMany(
    values: readonly (In & { readonly id?: EntityId; readonly version?: number | string })[],
    options: FateOptions,
  ): Promise<Fate<Item<Out>>[]>
  putMany(
    values: readonly (In & { readonly id?: EntityId; readonly version?: number | string })[],
    options?: ValueOptions,
  ): Promise<Item<Out>[]>
  /** Makes the same change of many; fails as `insertMany` does. */
  updateMany(of: readonly Reference[], patch: Patch<Out>, options: FateOptions): Promise<Fate<Item<Out>>[]>
  updateMany(of: readonly Reference[], patch: Patch<Out>, options?: ValueOptions): Promise<Item<Out>[]>
  /** Deletes many, and answers for each whether it was there; fails as `insertMany` does. */
  deleteMany(of: readonly Reference[], options: FateOptions): Promise<Fate<boolean>[]>
  deleteMany(of: readonly Reference[], options?: ValueOptions): Promise<boolean[]>
  /**
   * What becomes of entities of this kind, as `store.changes` has it. Deleted ones come whatever their kind was, since nobody knows it any
   * more. An item that cannot be read as one, `SCHEMA_MISMATCH`, ends it: go on from the cursor of the change before.
   */
  changes(options?: ChangesOptions): AsyncIterable<ItemChange<Out>>
  /**
   * What a call of the store has read, as `get` would give it; undefined where it is of another kind. For what hands over entities of the
   * store, such as `consume` and `watch`.
   */
  itemOf(entity: Entity): Item<Out> | undefined
}

/** The last state of an entity of a kind that was written, or that it was deleted. */
export interface ItemChange<T> extends Omit<EntityChange, 'entity'> {
  /** Undefined when it was deleted. */
  readonly item: Item<T> | undefined
}

/**
 * A page of items, in the order of the index. `cursor` leads to the next page, and `previous` to the one before; each is there where
 * another item may follow.
 */
export interface Page<T> {
  readonly items: readonly Item<T>[]
  readonly cursor?: string
  readonly previous?: string
  readonly cost: QueryCost
}

/** A page, and how many entities match in all: exactly up to 1,000, see `count` of the store. */
export interface PageWithCount<T> extends Page<T> {
  readonly count: number
}

/** What rows alone tell of an entity: the properties of the index and those that it includes, as far as they are at the top. */
export type ListItem<T, Keys extends readonly unknown[], Included> = { readonly id: EntityId } & Pick<
  T,
  Extract<Included | PathsOf<Keys[number]>, keyof T>
>

/** Known by the names and the types of its properties. */
export type DefinitionOf<Keys extends readonly unknown[]> =
  PropertiesOf<Keys> extends infer P extends IndexProperties ? IndexDefinition<P> : IndexDefinition

type PathsOf<Key> = Key extends unknown ? keyof Key : never

export interface List<T, Keys extends readonly unknown[], Included> extends Omit<Page<T>, 'items' | 'cost'> {
  readonly items: readonly ListItem<T, Keys, Included>[]
  readonly verified: boolean
  readonly cost: ListCost
}

/**
 * The calls of one index of a kind. Each takes values, or lists of values, for the index's first properties, and at most one range
 * on the next. A query that leaves the shard of its rows open needs `{ scatter: true }` as well. A query that the index
 * cannot answer does not compile, and the error is a sentence; at run time it is `BAD_QUERY`. While the index is being filled every
 * query rejects with `INDEX_NOT_READY`.
 */
export interface IndexOf<T, Keys extends readonly unknown[], Included = never, ShardOn = undefined> {
  /**
   * The definition that the store knows, for calls that take one, such as `watch` of `@looseleaf/changes`; `itemOf` makes items of
   * their entities.
   */
  readonly definition: DefinitionOf<Keys>
  /** Tells whether this process may query the index: true once it is filled everywhere, as far as this process knows. */
  isReady(): boolean
  /**
   * Returns a page of the items that match, in the order of the index, up to `limit` (50 by default, at most 1,000), with cursors to
   * the next page and, where the page was reached by one, to the page before. Every item matches as it is now. `cost.complete: false`
   * says that the page may lack one: go on with its cursor.
   */
  page<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<QueryOptions, Scatter>,
  ): Promise<Page<T>>
  /**
   * Returns the first page of each of up to 1,000 conditions, in their order, in a statement or two a shard. With `count: true` each
   * has the number of all that match as well, as `count` gives it.
   */
  pageMany<
    const W extends object,
    Scatter extends boolean | undefined = undefined,
    Count extends boolean | undefined = undefined,
  >(
    wheres: CheckedWheres<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<QueryManyOptions, Scatter> & { readonly count?: Count },
  ): Promise<(Count extends true ? PageWithCount<T> : Page<T>)[]>
  /**
   * Returns every item that matches, in the order of the index, for results that are known to be small. Rejects with `DEADLINE` where
   * that takes longer than the store's `queryTimeMs`, 5 seconds by default, since an item might be missing then.
   */
  all<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<GetAllOptions, Scatter>,
  ): Promise<Item<T>[]>
  /** Returns the first item that matches, in the order of the index, or undefined. */
  first<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<GetAllOptions, Scatter>,
  ): Promise<Item<T> | undefined>
  /**
   * Returns a page with the properties that the rows of an index with `include` hold, without reading bodies. `BAD_QUERY` for an index
   * without `include`.
   */
  list<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ListOptions, Scatter>,
  ): Promise<List<T, Keys, Included>>
  /**
   * Returns a page of ids from index rows alone. Entities are not read, so an id may be there whose entity no longer matches, or is
   * deleted.
   */
  ids<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<QueryIdsOptions, Scatter>,
  ): Promise<IdPage>
  /** Iterates over the items that match, page after page, from `cursor` on. A page is read when the loop gets to it. */
  each<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<QueryOptions, Scatter>,
  ): AsyncIterable<Item<T>>
  /**
   * Returns how many entities match. A number up to 1,000 is exact; a greater one counts index rows, in which an entity that has just
   * moved may count twice. `{ exact: true }` looks at each entity, and rejects with `DEADLINE` where that takes longer than
   * `queryTimeMs`; `{ exact: false }` counts rows, in one statement a shard.
   */
  count<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<CountOptions, Scatter>,
  ): Promise<number>
  /** Returns `count` of each of many conditions, in their order, in shared statements. */
  countMany<const W extends object, Scatter extends boolean | undefined = undefined>(
    wheres: CheckedWheres<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<CountOptions, Scatter>,
  ): Promise<number[]>
  /** Tells the plan of `page`: which shards it asks, for how many ranges, and about how many rows are there. Reads no entity. */
  explain<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ExplainOptions, Scatter>,
  ): Promise<QueryExplanation>
  /** Changes all items that match, page after page. An item that no longer matches when its turn comes is left alone. */
  updateWhere<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    patch: Patch<T>,
    options?: Scattered<ChangeWhereOptions, Scatter>,
  ): Promise<ChangedWhere>
  /** Deletes all items that match, page after page. An item that no longer matches when its turn comes stays. */
  deleteWhere<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ChangeWhereOptions, Scatter>,
  ): Promise<ChangedWhere>
}

/** The options of a call, with its `scatter` known to the compiler. */
export type Scattered<Options, Scatter> = Options & { readonly scatter?: Scatter }

/** A kind in a store: its entities, and its indexes by their names. */
export type Collection<S extends Schema, Indexes> = Entities<SchemaInput<S>, SchemaOutput<S>> & {
  readonly [Name in keyof Indexes]: IndexOf<
    SchemaOutput<S>,
    KeysOf<Indexes[Name]>,
    IncludedOf<Indexes[Name]>,
    ShardOnOf<Indexes[Name]>
  >
} & { readonly store: DataStore }

type IncludedOf<Index> = Index extends { readonly include: readonly (infer Name)[] } ? Name : never

type ShardOnOf<Index> = Index extends { readonly shardOn: infer Name extends string } ? Name : undefined
