import type { Bag, ColumnType, Entity, PropertyValue } from '@looseleaf/core'
import type { BuiltInKey, KeyFunction } from './key-functions.ts'

/** What an index says of a property: the type of its value, or `type[]` for an array with a row per different element. */
export type PropertyType = ColumnType | `${ColumnType}[]`

/** What an index keeps of a property that is more than its value under its name. */
export interface PropertyOptions {
  /** The type of what the bag holds, and of what queries give. */
  readonly type: PropertyType
  /** Where the bag has it, dots leading into objects, when the index calls it otherwise. */
  readonly of?: string | undefined
  /**
   * Keeps the result of a function in place of the value: `lower` (small letters; a composed `é` and an `e` with a combining accent
   * stay different), `lowerNfc` (small letters in Unicode's form NFC, so that both are one), `prefix(3)` (characters), `host` (of a
   * URL, without a port), `hash` (SHA-256, for long strings that are asked for whole), `hour`, `day` and `month` (their beginnings in
   * UTC), or a function of the program, see `defineKey`. Queries give values as bags hold them, and find what has the same key.
   */
  readonly key?: BuiltInKey | KeyFunction | `${string}@${number}` | undefined
  /**
   * `desc`: a query gives the property's values from the greatest to the least; with `order: 'desc'` of the query, which turns the
   * whole order round, from the least to the greatest. Default: `asc`.
   */
  readonly order?: 'asc' | 'desc' | undefined
  /**
   * Says how an entity is indexed in which the property is absent, null or an empty array. `first`, `last`: it has a row before, or behind,
   * all others where the query does not turn the order round, whichever way the values themselves stand, and queries ask for it by
   * `null`. `skip` (default): it has no row, so no query of the index finds it. One property of an index has to skip, unless the index
   * has `on`.
   */
  readonly nulls?: 'first' | 'last' | 'skip' | undefined
}

/** The properties of an index with their types, in the order of its key. */
export type IndexProperties = { readonly [property: string]: PropertyType | PropertyOptions }

/** The type that is said of a property. */
export type TypeOf<S extends PropertyType | PropertyOptions> = S extends PropertyOptions ? S['type'] : S

/** Null where entities without the property have rows. */
export type NullOf<S extends PropertyType | PropertyOptions> = S extends { readonly nulls: 'first' | 'last' }
  ? null
  : never

/** The JavaScript value of a type; of an element for `type[]`. */
export type ValueOf<T extends PropertyType> = T extends 'uuid' | 'uuid[]' | 'string' | 'string[]'
  ? string
  : T extends 'integer' | 'integer[]'
    ? number | bigint
    : T extends 'number' | 'number[]'
      ? number
      : T extends 'boolean' | 'boolean[]'
        ? boolean
        : Date

interface NoLower {
  readonly gt?: never
  readonly gte?: never
}
interface NoUpper {
  readonly lt?: never
  readonly lte?: never
}
type Lower<V> = { readonly gt: V; readonly gte?: never } | { readonly gt?: never; readonly gte: V }
type Upper<V> = { readonly lt: V; readonly lte?: never } | { readonly lt?: never; readonly lte: V }

/** A range of values: a lower bound, an upper one, or both. */
export type Range<V> = { readonly startsWith?: never; readonly in?: never } & (
  | (Lower<V> & (Upper<V> | NoUpper))
  | (NoLower & Upper<V>)
)

/** All strings with this beginning. */
export interface Beginning extends NoLower, NoUpper {
  readonly startsWith: string
  readonly in?: never
}

/** Any of these values, up to 100 different ones; an empty list matches nothing. */
export interface ValueList<V> extends NoLower, NoUpper {
  readonly in: readonly V[]
  readonly startsWith?: never
}

/** What a range may say of a property: bounds, or of a string its beginning. */
export type RangeOf<T extends PropertyType> =
  | Range<ValueOf<T>>
  | (T extends 'string' | 'string[]' ? Beginning : never)

/**
 * What a query asks of an index: values for its first properties, then at most one range on the next. In place of a value there
 * may be a list of which any will do; lists for several properties may make 100 combinations at the most.
 * For a property of type `type[]` an element is given.
 */
export type Where<P extends IndexProperties = IndexProperties> = {
  readonly [K in keyof P]?:
    | ValueOf<TypeOf<P[K]>>
    | NullOf<P[K]>
    | ValueList<ValueOf<TypeOf<P[K]>> | NullOf<P[K]>>
    | RangeOf<TypeOf<P[K]>>
}

/**
 * The bag of an entity that a query on this index gave: every indexed property is there with its type, but for those with
 * `nulls`. The array of a `type[]` property may hold more than what is indexed, so its elements are of any kind. Of what lies
 * within objects, or is called otherwise, nothing is said.
 */
export type IndexedBag<P extends IndexProperties = IndexProperties> = string extends keyof P
  ? Bag
  : Bag & {
      [
        K in keyof P as K extends `${string}.${string}`
          ? never
          : P[K] extends { readonly of: string }
            ? never
            : K
      ]:
        | (TypeOf<P[K]> extends `${string}[]` ? readonly PropertyValue[] : ValueOf<TypeOf<P[K]>>)
        | (null extends NullOf<P[K]> ? null | undefined : never)
    }

/** An entity that a query on this index gave. */
export type IndexedEntity<P extends IndexProperties = IndexProperties> = Entity<IndexedBag<P>>
