import type { CallOptions, Entity, EntityId, Fate } from '@looseleaf/core'
import type { FateOptions, ValueOptions } from '@looseleaf/core/internal'
import type { IndexDefinition, IndexProperties, QueryOptions } from '@looseleaf/index-engine'
import type { GetAllOptions, OnUnavailable, QueryCost } from '@looseleaf/index-engine/internal'
import type {
  DataStore,
  EntityChange,
  GetOptions,
  IdPage,
  PartialCount,
  PartialEntities,
  QueryExplanation,
} from '@looseleaf/store'
import type {
  AnswerOf,
  ChangesOptions,
  CountOptions,
  ExistsOptions,
  ExplainOptions,
  GetManyOptions,
  ListCost,
  ListOptions,
  QueryIdsOptions,
  QueryManyOptions,
} from '@looseleaf/store/internal'
import type { KeyPart } from '@looseleaf/router/internal'
import type { BatchWrites } from './batch-writes.ts'
import type { KeysOf } from './checked-index.ts'
import type { PlacedBy } from './checked-near.ts'
import type { CheckedPatch, Edited } from './checked-patch.ts'
import type { CheckedWhere, CheckedWheres } from './checked-where.ts'
import type { Condition, ConditionOptions, IntersectOptions } from './intersect.ts'
import type { Reference } from './reference.ts'
import type { SchemaInput, SchemaOutput, Schema } from './schema.ts'
import type { Item } from './shape.ts'
import type { ChangeWhereOptions, ChangedWhere } from './where-changes.ts'
import type { PropertiesOf } from './where.ts'

export interface NewOptions extends CallOptions {
  /** Default: the id of the value, or a new one. */
  readonly id?: EntityId | undefined
}

/**
 * The entities of one kind in a store. Reads return items: values of the kind's type with id and version. Entities of other kinds do not
 * exist for these calls. `update`, `put` and `delete` accept an item, and then reject with `VERSION_MISMATCH` if the entity was written
 * since it was read. `In` is the type of written values, `Out` the type of items without id and version.
 */
export interface Entities<In, Out> {
  /** Returns the item with this id; undefined if there is no entity of this kind. */
  get(id: EntityId, options?: GetOptions): Promise<Item<Out> | undefined>
  /** Tells whether an entity of this kind has this id. Reads it, without a check by the schema. */
  exists(id: EntityId, options?: ExistsOptions): Promise<boolean>
  /**
   * Returns items in the order of the ids; undefined for each id without an entity of this kind. With `onUnavailable: 'skip'` returns
   * `{ items, unread, complete, missingShards }`, where `unread` has the ids on shards that do not answer.
   */
  getMany<Handling extends OnUnavailable | undefined = undefined>(
    ids: readonly EntityId[],
    options?: GetManyOptions & { readonly onUnavailable?: Handling },
  ): Promise<AnswerOf<Handling, (Item<Out> | undefined)[], PartialEntities<Item<Out>>>>
  /** Inserts a new entity. Rejects with `ALREADY_EXISTS` if its id is in use. */
  insert(value: In & { readonly id?: EntityId }, options?: NewOptions): Promise<Item<Out>>
  /** Replaces an entity as a whole, or inserts it. A value with a version, such as an item, has to match the stored version. */
  put(
    value: In & { readonly id?: EntityId; readonly version?: number | string },
    options?: NewOptions,
  ): Promise<Item<Out>>
  /**
   * Changes properties of an entity, and retries until no other write interferes. A reference with a version, such as an item, has to
   * match the stored version. Properties that only a newer program knows stay with their object. A stored value that the schema would
   * change again stays as it is. Rejects with `NOT_FOUND` if there is no entity of this kind, and with `BAD_PROPERTY` for undefined.
   */
  update<R extends Edited<Out> = Edited<Out>>(
    of: Reference,
    patch: CheckedPatch<Out, R>,
    options?: CallOptions,
  ): Promise<Item<Out>>
  /** Inserts the value, or applies the patch if the entity exists. */
  upsert<R extends Edited<Out> = Edited<Out>>(
    id: EntityId,
    value: In,
    patch: CheckedPatch<Out, R>,
    options?: CallOptions,
  ): Promise<Item<Out>>
  /** Deletes an entity. Returns whether it existed. */
  delete(of: Reference, options?: CallOptions): Promise<boolean>
  /**
   * Inserts many entities, and returns their items in the order of the values. Tries all values, even if some fail. If any fails, the
   * call rejects with `SOME_FAILED`, which has the `fates` of all; with `{ fates: true }` it resolves with the fates instead. `putMany`,
   * `updateMany` and `deleteMany` do the same.
   */
  insertMany(
    values: readonly (In & { readonly id?: EntityId })[],
    options: FateOptions,
  ): Promise<Fate<Item<Out>>[]>
  insertMany(
    values: readonly (In & { readonly id?: EntityId })[],
    options?: ValueOptions,
  ): Promise<Item<Out>[]>
  /** Puts many entities. Fails as `insertMany` does. */
  putMany(
    values: readonly (In & { readonly id?: EntityId; readonly version?: number | string })[],
    options: FateOptions,
  ): Promise<Fate<Item<Out>>[]>
  putMany(
    values: readonly (In & { readonly id?: EntityId; readonly version?: number | string })[],
    options?: ValueOptions,
  ): Promise<Item<Out>[]>
  /** Applies a patch to many entities. Fails as `insertMany` does. */
  updateMany<R extends Edited<Out> = Edited<Out>>(
    of: readonly Reference[],
    patch: CheckedPatch<Out, R>,
    options: FateOptions,
  ): Promise<Fate<Item<Out>>[]>
  updateMany<R extends Edited<Out> = Edited<Out>>(
    of: readonly Reference[],
    patch: CheckedPatch<Out, R>,
    options?: ValueOptions,
  ): Promise<Item<Out>[]>
  /** Deletes many entities, and returns for each whether it existed. Fails as `insertMany` does. */
  deleteMany(of: readonly Reference[], options: FateOptions): Promise<Fate<boolean>[]>
  deleteMany(of: readonly Reference[], options?: ValueOptions): Promise<boolean[]>
  /**
   * Returns a page of the items that match one to eight conditions, such as two tags, or a person and a tag: on several indexes of the kind,
   * or on one index several times. After the properties with given values all indexes need the same properties, which order the page; a
   * range on the first of them applies to all conditions. Rejects with `BAD_QUERY` for other conditions. Reads the parts of the indexes
   * that may have items in common. Options and cursors are those of `page`.
   */
  intersect(conditions: readonly Condition<Out>[], options?: IntersectOptions): Promise<Page<Out>>
  /**
   * Iterates over the changes of entities of this kind, like `store.changes`, until the loop is left or the signal fires. Includes every deletion of the store, because a tombstone
   * has no kind. Ends with `SCHEMA_MISMATCH` at an entity that cannot become an item; the cursor of the change before it is still valid.
   */
  changes(options?: ItemChangesOptions): AsyncIterable<ItemChange<Out>>
  /**
   * Makes the item of an entity that a call of the store, `consume` or `watch` returned. Undefined for an entity of another kind, and for
   * an expired one.
   */
  itemOf(entity: Entity): Item<Out> | undefined
  /** The writes of this kind for `store.batch`, which writes several entities together, or none. */
  readonly writes: BatchWrites<In, Out>
}

/** As `ChangesOptions` of the store. The collection gives the kind. */
export type ItemChangesOptions = Omit<ChangesOptions, 'kinds'>

/** A change of an entity of a kind: its last state, or its deletion. */
export interface ItemChange<T> extends Omit<EntityChange, 'entity'> {
  /** Undefined if the entity was deleted, or has expired. */
  readonly item: Item<T> | undefined
}

/** A page of items of `T`, the type of an entity without id and version: see `PageOf`. In the order of the index. `cursor` and `previous` lead to the next page and to the page before, see `QueryPage`. */
export interface Page<T> {
  readonly items: readonly Item<T>[]
  readonly cursor?: string
  readonly previous?: string
  readonly cost: QueryCost
}

/** A page and the number of all matching entities. Up to 1,000 it is exact, see `count` of the store. */
export interface PageWithCount<T> extends Page<T> {
  readonly count: number
}

/** An item that comes from an index row alone: the indexed and included properties without a path. */
export type ListItem<T, Keys extends readonly unknown[], Included> = { readonly id: EntityId } & Pick<
  T,
  Extract<Included | PathsOf<Keys[number]>, keyof T>
>

/** The type of an index's definition, with the names and types of its properties. */
export type DefinitionOf<Keys extends readonly unknown[]> =
  PropertiesOf<Keys> extends infer P extends IndexProperties ? IndexDefinition<P> : IndexDefinition

type PathsOf<Key> = Key extends unknown ? keyof Key : never

export interface List<T, Keys extends readonly unknown[], Included> extends Omit<Page<T>, 'items' | 'cost'> {
  readonly items: readonly ListItem<T, Keys, Included>[]
  readonly verified: boolean
  readonly cost: ListCost
}

/**
 * The calls of one index of a kind. Each takes values, or lists of values, for the first properties of the index, and at most one range
 * on the next. A query without a value for `shardOn` needs `{ scatter: true }`. A query that the index cannot serve does not compile, and
 * the error contains a sentence; at run time it rejects with `BAD_QUERY`. Queries reject with `INDEX_NOT_READY` until the index is
 * filled.
 *
 * An upgrade, a default or `checkReads` may give an item another value than the index has. Calls that read items leave out an item that
 * does not match then, so a page may have fewer items than its limit. `list`, `ids`, `explain` and counts use the values of the index.
 */
export interface IndexOf<T, Keys extends readonly unknown[], Included = never, ShardOn = undefined> {
  /**
   * The definition of the index, for calls that take one, such as `watch` of `@looseleaf/changes`. `itemOf` makes items of the entities
   * that such calls return.
   */
  readonly definition: DefinitionOf<Keys>
  /** Tells whether this process may query the index, by its copy of the catalog. */
  isReady(): boolean
  /** Makes a condition for `intersect` of the collection. Asks nothing. */
  condition<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ConditionOptions, Scatter>,
  ): Condition<T>
  /**
   * Returns a page of matching items in the order of the index, with cursors to the next page and to the page before. `limit`: 1 to
   * 1,000, default 50. If `cost.complete` is false, the page may lack an item; continue with its cursor.
   */
  page<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<QueryOptions, Scatter>,
  ): Promise<Page<T>>
  /**
   * Returns the first page of each of up to 1,000 conditions, in their order. Takes one or two statements per shard. With `count: true`
   * each page has the number of all matching entities, as `count` returns it.
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
   * Returns every matching item in the order of the index; for small results. Rejects with `DEADLINE` after the store's `queryTimeMs`
   * (default: 5 seconds), because an item might be missing then.
   */
  all<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<GetAllOptions, Scatter>,
  ): Promise<Item<T>[]>
  /** Returns the first matching item in the order of the index; undefined if none matches. */
  first<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<GetAllOptions, Scatter>,
  ): Promise<Item<T> | undefined>
  /** Returns a page from the rows of a covering index, without reading bodies. Rejects with `BAD_QUERY` if the index has no `include`. */
  list<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ListOptions, Scatter>,
  ): Promise<List<T, Keys, Included>>
  /** Returns a page of ids from index rows alone, without reading entities. So the entity of an id may be deleted, or no longer match. */
  ids<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<QueryIdsOptions, Scatter>,
  ): Promise<IdPage>
  /**
   * Iterates over all matching items from `cursor` on. Reads a page when the loop reaches it; `limit` is the size of these pages, and does
   * not bound the number of items: leave the loop for that, or use `page`. If the loop moves an item ahead in the index,
   * it comes again; if such a move never leaves the range, the loop never ends. To change each item once, use `updateWhere`. Has no
   * `onUnavailable`, because a loop has no place to say that items are missing: it rejects if a shard does not answer.
   */
  each<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<Omit<QueryOptions, 'onUnavailable'>, Scatter>,
  ): AsyncIterable<Item<T>>
  /**
   * Returns the number of matching entities. Up to 1,000 it is exact; above, it counts index rows, and an entity that has just moved may
   * count twice. `{ exact: true }` checks every entity, and rejects with `DEADLINE` after `queryTimeMs`. `{ exact: false }` counts rows,
   * in one statement per shard, or in two if there are more than 100. With `onUnavailable: 'skip'` returns `{ count, complete, missingShards }`.
   */
  count<
    const W extends object,
    Scatter extends boolean | undefined = undefined,
    Handling extends OnUnavailable | undefined = undefined,
  >(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<CountOptions, Scatter> & { readonly onUnavailable?: Handling },
  ): Promise<AnswerOf<Handling, number, PartialCount>>
  /** Returns the counts of many conditions, in their order. The conditions share statements. */
  countMany<
    const W extends object,
    Scatter extends boolean | undefined = undefined,
    Handling extends OnUnavailable | undefined = undefined,
  >(
    wheres: CheckedWheres<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<CountOptions, Scatter> & { readonly onUnavailable?: Handling },
  ): Promise<AnswerOf<Handling, number, PartialCount>[]>
  /** Returns the plan of `page`: its shards, the number of its ranges, and an estimate of their rows. Reads no entity. */
  explain<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ExplainOptions, Scatter>,
  ): Promise<QueryExplanation>
  /**
   * Changes all matching items, page after page. Each item is changed once, even if the change moves it ahead in the index. Skips an item
   * that no longer matches when its turn comes.
   */
  updateWhere<
    const W extends object,
    Scatter extends boolean | undefined = undefined,
    R extends Edited<T> = Edited<T>,
  >(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    patch: CheckedPatch<T, R>,
    options?: Scattered<ChangeWhereOptions, Scatter>,
  ): Promise<ChangedWhere>
  /** Deletes all matching items, page after page. Skips an item that no longer matches when its turn comes. */
  deleteWhere<const W extends object, Scatter extends boolean | undefined = undefined>(
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options?: Scattered<ChangeWhereOptions, Scatter>,
  ): Promise<ChangedWhere>
}

/** The options of a call, with the literal type of `scatter`. */
export type Scattered<Options, Scatter> = Options & { readonly scatter?: Scatter }

/** The ids of new entities of a kind. `Near` is the kind's option of this name. */
export interface Ids<In, Near> {
  /**
   * Makes a fresh id. With `near` the id has the place of an entity with these values, such as `{ tenant: 'acme' }`, so that a program
   * knows the id before it inserts the entity.
   */
  newId(...of: PlaceArguments<In, Near>): EntityId
  /**
   * Derives the id of a named entity from the name of the kind and a key: the same in every process and for ever, see `deriveId`. With
   * `near` the id also depends on the place of an entity with these values. Throws `BAD_OPTION` for a renamed kind.
   */
  deriveId(key: KeyPart | readonly KeyPart[], ...of: PlaceArguments<In, Near>): EntityId
}

type PlaceArguments<In, Near> = [Near] extends [undefined] ? [] : [of: PlacedBy<In, Near>]

/** A kind in a store: its entities, and its indexes by their names. */
export type Collection<S extends Schema, Indexes, Near = undefined> = Entities<
  SchemaInput<S>,
  SchemaOutput<S>
> &
  Ids<SchemaInput<S>, Near> & {
    readonly [Name in keyof Indexes]: IndexOf<
      SchemaOutput<S>,
      KeysOf<Indexes[Name]>,
      IncludedOf<Indexes[Name]>,
      ShardOnOf<Indexes[Name]>
    >
  } & { readonly store: DataStore }

type IncludedOf<Index> = Index extends { readonly include: readonly (infer Name)[] } ? Name : never

type ShardOnOf<Index> = Index extends { readonly shardOn: infer Name extends string } ? Name : undefined
