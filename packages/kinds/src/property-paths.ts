import type { PropertyOptions } from '@looseleaf/index-engine/internal'

/*
 * Derives from the type of entities the paths that an index may have, and the column types that fit them. A union has the paths of all
 * its variants.
 */

/** A value without properties of its own. */
export type Leaf = string | number | bigint | boolean | Date | Uint8Array | null | undefined

/** Paths such as `status`, `author.id` and `authors.id`: dots lead into objects, also within arrays. At most three levels, to keep compilation fast. */
export type PathOf<T, Depth extends readonly unknown[] = []> = Depth['length'] extends 3
  ? never
  : T extends Leaf
    ? never
    : {
        [K in keyof T & string]: K | `${K}.${PathOf<Inner<T[K]>, [...Depth, unknown]>}`
      }[keyof T & string]

/** The type without null, or of the elements of an array. */
export type Inner<V> = NonNullable<V> extends readonly (infer Item)[] ? NonNullable<Item> : NonNullable<V>

/** The type at a path, in each variant of a union that has it. Through an array: the type in an element. */
export type ValueAt<T, Path extends string> = T extends unknown
  ? Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof T
      ? ValueAt<Inner<T[Head]>, Rest>
      : never
    : Path extends keyof T
      ? T[Path]
      : never
  : never

/** True if the path leads through an array, or to one, in a variant that has it. */
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

/** Tells whether a type is an array. False for `?: never`. */
type IsArray<V> = [NonNullable<V>] extends [never]
  ? false
  : NonNullable<V> extends readonly unknown[]
    ? true
    : false

/**
 * True if a variant that has the property allows null or undefined at the path, or on the way to it. A variant that lacks the property,
 * or has it as `?: never`, does not count. Elements of an array do not count, because an array may be empty anyway.
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

/** The types that an index may use for the path; `'string[]'` and the like if the path leads through an array. */
export type ColumnAt<T, Path extends string> =
  true extends CrossesArray<T, Path>
    ? `${Column<Inner<ValueAt<T, Path>>>}[]`
    : Column<NonNullable<ValueAt<T, Path>>>

/**
 * A property of an index of a kind, in an object of its own: `{ status: 'string' }`, `{ email: { type: 'string', key: 'lower' } }`. `as`
 * gives it another name in the index: `{ title: { type: 'string', key: 'prefix(1)', as: 'initial' } }`. Editors suggest the paths and
 * their types; `CheckedIndex` reports a mistake in a sentence.
 */
export type KeyOf<T> =
  | { readonly [P in PathOf<T>]?: ColumnAt<T, P> | KeyOptions<ColumnAt<T, P>> }
  | { readonly [path: string]: unknown }

export interface KeyOptions<Type> extends Omit<PropertyOptions, 'type' | 'of'> {
  readonly type: Type
  readonly as?: string
}
