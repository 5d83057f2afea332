import type { IndexProperties, TypeOf, NullOf, ValueOf, ValueList, RangeOf } from '@looseleaf/index-engine'

/** What is asked of an index: values, or lists of values, for its first properties, and at most one range on the next. */
export type WhereOf<Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? (Fixed<First> & WhereOf<Rest>) | (Ranged<First> & Unsaid<Rest>)
  : unknown

/** What an index calls its property. */
type NameOf<Key, K extends keyof Key> = Key[K] extends { readonly as: infer Name extends string } ? Name : K

type Fixed<Key> = {
  readonly [K in keyof Key as NameOf<Key, K>]: Key[K] extends IndexProperties[string]
    ? ValueOf<TypeOf<Key[K]>> | NullOf<Key[K]> | ValueList<ValueOf<TypeOf<Key[K]>> | NullOf<Key[K]>>
    : never
}

type Ranged<Key> = {
  readonly [K in keyof Key as NameOf<Key, K>]?: Key[K] extends IndexProperties[string]
    ? RangeOf<TypeOf<Key[K]>>
    : never
}

type Unsaid<Keys extends readonly unknown[]> = Keys extends readonly [infer First, ...infer Rest]
  ? { readonly [K in keyof First as NameOf<First, K>]?: never } & Unsaid<Rest>
  : unknown
