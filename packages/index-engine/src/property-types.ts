import type { Bag, ColumnType, Entity, PropertyValue } from '@looseleaf/core'

/** What an index says of a property: the type of its value, or `type[]` for an array with a row per different element. */
export type PropertyType = ColumnType | `${ColumnType}[]`

/** The properties of an index with their types, in the order of its key. */
export type IndexProperties = { readonly [property: string]: PropertyType }

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

/** A stretch of values: a lower bound, an upper one, or both. */
export type Range<V> = { readonly startsWith?: never; readonly in?: never } & (
  (Lower<V> & (Upper<V> | NoUpper)) | (NoLower & Upper<V>)
)

/** All strings with this beginning. */
export interface Beginning extends NoLower, NoUpper {
  readonly startsWith: string
  readonly in?: never
}

/** Any of these values: 1 to 100 different ones. */
export interface ValueList<V> extends NoLower, NoUpper {
  readonly in: readonly V[]
  readonly startsWith?: never
}

type RangeOf<T extends PropertyType> =
  Range<ValueOf<T>> | (T extends 'string' | 'string[]' ? Beginning : never)

/**
 * What a query asks of an index: values for its first properties, then at most one range on the next. In place of a value there
 * may be a list of which any will do; lists for several properties may make 100 combinations at the most.
 * For a property of type `type[]` an element is given.
 */
export type Where<P extends IndexProperties = IndexProperties> = {
  readonly [K in keyof P]?: ValueOf<P[K]> | ValueList<ValueOf<P[K]>> | RangeOf<P[K]>
}

/**
 * The bag of an entity that a query on this index gave: every indexed property is there with its type. The array of a
 * `type[]` property may hold more than what is indexed, so its elements are of any kind. Of what lies within objects
 * nothing is said.
 */
export type IndexedBag<P extends IndexProperties = IndexProperties> = string extends keyof P
  ? Bag
  : Bag & {
      [K in keyof P as K extends `${string}.${string}` ? never : K]: P[K] extends `${string}[]`
        ? readonly PropertyValue[]
        : ValueOf<P[K]>
    }

/** An entity that a query on this index gave. */
export type IndexedEntity<P extends IndexProperties = IndexProperties> = Entity<IndexedBag<P>>
