import type { Bag, Entity, PropertyValue } from '@looseleaf/core'
import type { ColumnType } from '@looseleaf/core/internal'
import type { BuiltInKey, KeyFunction } from './key-functions.ts'

/** The type of an indexed property, or `type[]` for an array with a row per distinct element. */
export type PropertyType = ColumnType | `${ColumnType}[]`

export interface PropertyOptions {
  /** The type of the values in bags and queries. */
  readonly type: PropertyType
  /** The path of the value in the bag, if it differs from the name in the index. Dots lead into objects. */
  readonly of?: string | undefined
  /**
   * Indexes the result of a function in place of the value.
   *
   * - `lower`: lower case. A composed `é` differs from an `e` with a combining accent.
   * - `lowerNfc`: lower case in Unicode's form NFC, so that both are equal.
   * - `prefix(3)`: the first characters.
   * - `host`: the host of a URL, without the port.
   * - `hash`: 16 bytes of a SHA-256, for equality of long strings.
   * - `hour`, `day`, `month`: the time at which they begin in UTC, whatever the time zone of the process. Midnight of another time zone may
   *   lie in the day or the month before.
   * - a function of the program, see `defineKey`.
   *
   * Queries give plain values, and find every value with the same key. In a range, `gte` and `lte` take in all values of their key. `lt` and
   * `gt` among the values of one time, number or `prefix(n)` are refused with `BAD_QUERY`: for `hour`, `day` and `month`, `lt` takes the
   * beginning of one.
   */
  readonly key?: BuiltInKey | KeyFunction | `${string}@${number}` | undefined
  /**
   * Direction of the property in the order of the index. `desc`: from the greatest value to the least. A query with `order: 'desc'`
   * reverses the whole order. Default: `asc`.
   */
  readonly order?: 'asc' | 'desc' | undefined
  /**
   * Handles an entity in which the property is absent, null or an empty array. `first`, `last`: it has a row before, or after, all
   * values in the order of the index, whatever `order` the property has; a query finds it by `null`. `skip`: it has no row, so
   * no query of the index finds it. At least one property of an index without `on` has to skip. Default: `skip`.
   */
  readonly nulls?: 'first' | 'last' | 'skip' | undefined
}

/** The properties of an index with their types, in the order of its key. */
export type IndexProperties = { readonly [property: string]: PropertyType | PropertyOptions }

export type TypeOf<S extends PropertyType | PropertyOptions> = S extends PropertyOptions ? S['type'] : S

/** `null` if entities without the property have rows, otherwise `never`. */
export type NullOf<S extends PropertyType | PropertyOptions> = S extends { readonly nulls: 'first' | 'last' }
  ? null
  : never

/** The JavaScript type of a value; of an element for `type[]`. */
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

/** Any of these values, up to 100 distinct ones. An empty list matches nothing. */
export interface ValueList<V> extends NoLower, NoUpper {
  readonly in: readonly V[]
  readonly startsWith?: never
}

/** A range of a property: bounds, or the beginning of a string. */
export type RangeOf<T extends PropertyType> =
  | Range<ValueOf<T>>
  | (T extends 'string' | 'string[]' ? Beginning : never)

/**
 * Conditions of a query: values for the first properties of the index, then at most one range on the next. A list in place of a value
 * means any of its values; lists for several properties may make up to 100 combinations. For a property of type `type[]`, give a value
 * of an element.
 */
export type Where<P extends IndexProperties = IndexProperties> = {
  readonly [K in keyof P]?:
    | ValueOf<TypeOf<P[K]>>
    | NullOf<P[K]>
    | ValueList<ValueOf<TypeOf<P[K]>> | NullOf<P[K]>>
    | RangeOf<TypeOf<P[K]>>
}

/**
 * The bag of an entity that a query on this index returned. Each indexed property is present with its type, and may be absent if it has
 * `nulls`. The array of a `type[]` property may hold elements that are not indexed, so their type is open. Properties with a path, or
 * with `of`, are not typed.
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

/** An entity that a query on this index returned. */
export type IndexedEntity<P extends IndexProperties = IndexProperties> = Entity<IndexedBag<P>>
