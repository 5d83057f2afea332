import type { IndexProperties, NullOf, RangeOf, TypeOf, ValueList, ValueOf } from '@looseleaf/index-engine'
import type { Inner, ValueAt } from './property-paths.ts'

/**
 * What is asked of an index of entities `T`: values, or lists of values, for its first properties, and at most one range on the next.
 */
export type WhereOf<T, Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? (Fixed<T, First> & WhereOf<T, Rest>) | (Ranged<First> & Unsaid<Rest>)
  : unknown

/** The name that an index has for a property. */
export type NameOf<Key, K extends keyof Key> = Key[K] extends { readonly as: infer Name extends string }
  ? Name
  : K

/** What an index says of its properties, by the names that it has for them. */
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

/** As the entities have it, so that a misspelt word of a union does not compile; by the index where their type does not say. */
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

type Unsaid<Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? { readonly [K in keyof First as NameOf<First, K>]?: never } & Unsaid<Rest>
  : unknown
