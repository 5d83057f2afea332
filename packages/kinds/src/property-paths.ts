import type { PropertyOptions } from '@looseleaf/index-engine'

/*
 * What a kind's indexes may be made of, from the type of its entities: the paths that lead to values, and the types of columns
 * that hold them.
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

/** What is behind null and arrays. */
export type Inner<V> = NonNullable<V> extends readonly (infer Item)[] ? NonNullable<Item> : NonNullable<V>

/** The value at a path; an element of it where an array is on the way. */
export type ValueAt<T, Path extends string> = Path extends `${infer Head}.${infer Rest}`
  ? Head extends keyof T
    ? ValueAt<Inner<T[Head]>, Rest>
    : never
  : Path extends keyof T
    ? T[Path]
    : never

type CrossesArray<T, Path extends string> = Path extends `${infer Head}.${infer Rest}`
  ? Head extends keyof T
    ? NonNullable<T[Head]> extends readonly unknown[]
      ? true
      : CrossesArray<Inner<T[Head]>, Rest>
    : false
  : Path extends keyof T
    ? NonNullable<T[Path]> extends readonly unknown[]
      ? true
      : false
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

/** The types that an index may give to what is at a path: `'string[]'` and the like where it leads through an array. */
export type ColumnAt<T, Path extends string> =
  CrossesArray<T, Path> extends true
    ? `${Column<Inner<ValueAt<T, Path>>>}[]`
    : Column<NonNullable<ValueAt<T, Path>>>

/**
 * A property of an index of a kind, in an object of its own: `{ status: 'string' }`, `{ email: { type: 'string', key: 'lower' } }`.
 * With `as` the index calls it otherwise: `{ title: { type: 'string', key: 'prefix(1)', as: 'initial' } }`.
 */
export type KeyOf<T> = {
  [P in PathOf<T>]: { readonly [K in P]: ColumnAt<T, P> | KeyOptions<ColumnAt<T, P>> }
}[PathOf<T>]

interface KeyOptions<Type> extends Omit<PropertyOptions, 'type' | 'of'> {
  readonly type: Type
  readonly as?: string
}
