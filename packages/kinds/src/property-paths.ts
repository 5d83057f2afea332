import type { PropertyOptions } from '@looseleaf/index-engine'

/*
 * Paths to the values of an entity that an index may hold, and the column types that hold them, from the type of the entities. A
 * union has the paths of all its variants.
 */

type Leaf = string | number | bigint | boolean | Date | Uint8Array | null | undefined

/** `status`, `author.id`, `labels`, `authors.id`: dots lead into objects, and into those of arrays. Three levels, for the compiler's sake. */
export type PathOf<T, Depth extends readonly unknown[] = []> = Depth['length'] extends 3
  ? never
  : T extends Leaf
    ? never
    : {
        [K in keyof T & string]: K | `${K}.${PathOf<Inner<T[K]>, [...Depth, unknown]>}`
      }[keyof T & string]

/** The type behind null and arrays. */
export type Inner<V> = NonNullable<V> extends readonly (infer Item)[] ? NonNullable<Item> : NonNullable<V>

/** The value at a path, in each variant of a union that has it; an element of it where an array is on the way. */
export type ValueAt<T, Path extends string> = T extends unknown
  ? Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof T
      ? ValueAt<Inner<T[Head]>, Rest>
      : never
    : Path extends keyof T
      ? T[Path]
      : never
  : never

/** True where the path leads through an array, or to one, in a variant that has it. */
type CrossesArray<T, Path extends string> = T extends unknown
  ? Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof T
      ? IsArray<T[Head]> extends true
        ? true
        : CrossesArray<Inner<T[Head]>, Rest>
      : never
    : Path extends keyof T
      ? IsArray<T[Path]>
      : never
  : never

/** False of a property that a variant has as `?: never`. */
type IsArray<V> = [NonNullable<V>] extends [never]
  ? false
  : NonNullable<V> extends readonly unknown[]
    ? true
    : false

/**
 * True where a variant that has the property at the path allows null or undefined there, or on the way to it. A variant that
 * lacks the property, or has it as `?: never`, does not count. Elements of an array do not count either: an array may
 * be empty.
 */
export type MayBeAbsent<T, Path extends string> = true extends AbsentIn<T, Path> ? true : false

type AbsentIn<T, Path extends string> = T extends unknown
  ? Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof T
      ? AbsentAt<T[Head]> extends true
        ? true
        : NonNullable<T[Head]> extends readonly unknown[]
          ? false
          : AbsentIn<NonNullable<T[Head]>, Rest>
      : never
    : Path extends keyof T
      ? AbsentAt<T[Path]>
      : never
  : never

type AbsentAt<V> = [NonNullable<V>] extends [never]
  ? false
  : undefined extends V
    ? true
    : null extends V
      ? true
      : false

type Column<V> = V extends string
  ? 'string' | 'uuid'
  : V extends number
    ? 'integer' | 'number'
    : V extends bigint
      ? 'integer'
      : V extends boolean
        ? 'boolean'
        : V extends Date
          ? 'time'
          : never

/** The types that an index may give to the value at a path: `'string[]'` and the like where it leads through an array. */
export type ColumnAt<T, Path extends string> =
  true extends CrossesArray<T, Path>
    ? `${Column<Inner<ValueAt<T, Path>>>}[]`
    : Column<NonNullable<ValueAt<T, Path>>>

/**
 * A property of an index of a kind, in an object of its own: `{ status: 'string' }`, `{ email: { type: 'string', key: 'lower' } }`.
 * With `as` the index calls it otherwise: `{ title: { type: 'string', key: 'prefix(1)', as: 'initial' } }`. An editor suggests the
 * paths and their types; `CheckedIndex` says in a sentence which of them do not fit.
 */
export type KeyOf<T> =
  | { readonly [P in PathOf<T>]?: ColumnAt<T, P> | KeyOptions<ColumnAt<T, P>> }
  | { readonly [path: string]: unknown }

export interface KeyOptions<Type> extends Omit<PropertyOptions, 'type' | 'of'> {
  readonly type: Type
  readonly as?: string
}
