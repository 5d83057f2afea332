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
import type { Reference } from './reference.ts'
import type { SchemaInput, SchemaOutput, Schema } from './schema.ts'
import type { Item } from './shape.ts'
import type { unset } from './unset.ts'
import type { ChangeWhereOptions, ChangedWhere } from './where-changes.ts'
import type { PropertiesOf, WhereOf } from './where.ts'

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

/** What became of an entity of a kind, see `EntityChange`. */
export interface ItemChange<T> extends Omit<EntityChange, 'entity'> {
  /** Undefined when it was deleted. */
  readonly item: Item<T> | undefined
}

/** A page of entities of a kind, as `query` of the store gives it. */
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
 * One index of a kind. Each call takes values, or lists of values, for the index's first properties and at most one range on the
 * next; where that does not say on which shard the rows are, `{ scatter: true }` as well.
 */
export interface IndexOf<T, Keys extends readonly unknown[], Included = never> {
  /** The index of the store that it is, for what takes one, such as `watch` of `@looseleaf/changes`; `itemOf` makes items of its entities. */
  readonly definition: DefinitionOf<Keys>
  /** Whether it can be queried, as far as this process knows; see `isReady` of the store. */
  isReady(): boolean
  /** See `query` of the store. */
  page(where: WhereOf<T, Keys>, options?: QueryOptions): Promise<Page<T>>
  /** The first page of each of many conditions, in their order, in a statement or two a shard; see `queryMany` of the store. */
  pageMany(
    wheres: readonly WhereOf<T, Keys>[],
    options: QueryManyOptions & { readonly count: true },
  ): Promise<PageWithCount<T>[]>
  pageMany(wheres: readonly WhereOf<T, Keys>[], options?: QueryManyOptions): Promise<Page<T>[]>
  /** All at once, for results that are known to be small; see `getAll` of the store. */
  all(where: WhereOf<T, Keys>, options?: GetAllOptions): Promise<Item<T>[]>
  first(where: WhereOf<T, Keys>, options?: GetAllOptions): Promise<Item<T> | undefined>
  /** A page drawn from the rows of an index with `include`; see `list` of the store. */
  list(where: WhereOf<T, Keys>, options?: ListOptions): Promise<List<T, Keys, Included>>
  /** A page of ids from index rows alone: what has moved on may still be among them; see `queryIds` of the store. */
  ids(where: WhereOf<T, Keys>, options?: QueryIdsOptions): Promise<IdPage>
  /** Page after page, from `cursor` on. */
  each(where: WhereOf<T, Keys>, options?: QueryOptions): AsyncIterable<Item<T>>
  /** Returns how many entities match. A number up to 1,000 is exact; a greater one counts index rows, see `count` of the store. */
  count(where: WhereOf<T, Keys>, options?: CountOptions): Promise<number>
  /** Returns what `count` gives for each of many conditions, in their order, in shared statements. */
  countMany(wheres: readonly WhereOf<T, Keys>[], options?: CountOptions): Promise<number[]>
  /** What `page` would do: which shards it asks, for how many ranges, and about how many rows are there. */
  explain(where: WhereOf<T, Keys>, options?: ExplainOptions): Promise<QueryExplanation>
  /** Changes all that match, page after page; one that no longer matches when its turn comes is left alone. */
  updateWhere(where: WhereOf<T, Keys>, patch: Patch<T>, options?: ChangeWhereOptions): Promise<ChangedWhere>
  /** Deletes all that match, page after page; one that no longer matches when its turn comes stays. */
  deleteWhere(where: WhereOf<T, Keys>, options?: ChangeWhereOptions): Promise<ChangedWhere>
}

/** A kind in a store: its entities, and its indexes by their names. */
export type Collection<S extends Schema, Indexes> = Entities<SchemaInput<S>, SchemaOutput<S>> & {
  readonly [Name in keyof Indexes]: IndexOf<SchemaOutput<S>, KeysOf<Indexes[Name]>, IncludedOf<Indexes[Name]>>
} & { readonly store: DataStore }

type KeysOf<Index> = Index extends { readonly by: infer Keys extends readonly unknown[] } ? Keys : never

type IncludedOf<Index> = Index extends { readonly include: readonly (infer Name)[] } ? Name : never
