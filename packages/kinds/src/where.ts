import type { IndexProperties } from '@looseleaf/index-engine'
import type { NullOf, RangeOf, TypeOf, ValueList, ValueOf } from '@looseleaf/index-engine/internal'
import type { Inner, ValueAt } from './property-paths.ts'

/** Conditions on an index of entities `T`: values, or lists of values, for its first properties, and at most one range on the next. */
export type WhereOf<T, Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? (Fixed<T, First> & WhereOf<T, Rest>) | (Ranged<First> & Absent<Rest>)
  : unknown

/** The name of a property in the index. */
export type NameOf<Key, K extends keyof Key> = Key[K] extends { readonly as: infer Name extends string }
  ? Name
  : K

/** The types and options of an index's properties, by their names in the index. */
export type PropertiesOf<Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? Flat<Named<First> & PropertiesOf<Rest>>
  : {}

type Named<Key> = {
  readonly [K in keyof Key as NameOf<Key, K>]: Key[K] extends { readonly as: string }
    ? Omit<Key[K], 'as'> & { readonly of: K }
    : Key[K]
}

type Flat<P> = { readonly [K in keyof P]: P[K] }

type Fixed<T, Key> = {
  readonly [K in keyof Key as NameOf<Key, K>]: Key[K] extends IndexProperties[string]
    ? ValueIn<T, K, Key[K]> | NullOf<Key[K]> | ValueList<ValueIn<T, K, Key[K]> | NullOf<Key[K]>>
    : never
}

/** The type of a value by the type of the entities, so that a misspelt value of a union does not compile; otherwise by the index. */
export type ValueIn<T, Path, Spec extends IndexProperties[string]> = [
  Inner<ValueAt<T, Path & string>>,
] extends [never]
  ? ValueOf<TypeOf<Spec>>
  : Inner<ValueAt<T, Path & string>>

type Ranged<Key> = {
  readonly [K in keyof Key as NameOf<Key, K>]?: Key[K] extends IndexProperties[string]
    ? RangeOf<TypeOf<Key[K]>>
    : never
}

type Absent<Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? { readonly [K in keyof First as NameOf<First, K>]?: never } & Absent<Rest>
  : unknown
