import type { IndexProperties } from '@looseleaf/index-engine'
import type { NullOf, RangeOf, TypeOf, ValueList } from '@looseleaf/index-engine/internal'
import type { Joined, NamesOf } from './checked-index.ts'
import type { Mistake } from './mistake.ts'
import type { NameOf, ValueIn } from './where.ts'

/*
 * Types that describe the mistakes of a query in sentences. A wrong query gets the type `Mistake`, so the error of the compiler contains
 * the sentence. `SuggestedWhere` is for editors, which suggest its names and values.
 */

/** The query that editors suggest: values, lists and ranges by the names of the index's properties. */
type SuggestedWhere<T, Keys extends readonly unknown[]> = Keys extends readonly [infer Key, ...infer Rest]
  ? Suggested<T, Key> & SuggestedWhere<T, Rest>
  : unknown

type Suggested<T, Key> = {
  readonly [K in keyof Key as NameOf<Key, K>]?: Key[K] extends IndexProperties[string]
    ? | ValueIn<T, K, Key[K]>
      // `ValueMistakes` reports null on an index without it, in a sentence.
      | null
      | ValueList<ValueIn<T, K, Key[K]> | NullOf<Key[K]>>
      | RangeOf<TypeOf<Key[K]>>
    : never
}

/**
 * A query of an index, or a sentence for its first mistake. `Keys` and `ShardOn` come from the index, `W` is the query, and `Scatter` the
 * option. A function over any index passes them on as type arguments.
 */
export type CheckedWhere<T, Keys extends readonly unknown[], ShardOn, W, Scatter> = W &
  ([WhereMistake<NamesOf<Keys>, W>] extends [never]
    ? [ScatterMistake<NamesOf<Keys>, ShardOn, W, Scatter>] extends [never]
      ? unknown
      : Mistake<ScatterMistake<NamesOf<Keys>, ShardOn, W, Scatter>>
    : Mistake<WhereMistake<NamesOf<Keys>, W>>) &
  ValueMistakes<T, Keys, W> &
  SuggestedWhere<T, Keys>

/** Accepts the values of a query that its index can find; a sentence for null on a property without it, and for a text that no entity has. */
type ValueMistakes<T, Keys extends readonly unknown[], W> = Keys extends readonly [infer Key, ...infer Rest]
  ? NullMistake<Key, W> & TextMistakes<T, Key, W> & ValueMistakes<T, Rest, W>
  : unknown

/** Without rows for null, a query by null would find nothing. */
type NullMistake<Key, W> = {
  [K in keyof Key & string]: MayBeNull<ValueOf<W, NameOf<Key, K>>> extends true
    ? Key[K] extends IndexProperties[string]
      ? [NullOf<Key[K]>] extends [never]
        ? Mistake<`The index has no row for an entity whose ${K} is null or absent, so null cannot be given for ${NameOf<Key, K> & string}.`>
        : unknown
      : unknown
    : unknown
}[keyof Key & string]

type MayBeNull<V> = IsAny<V> extends true ? false : [Extract<V, null>] extends [never] ? false : true

type TextMistakes<T, Key, W> = {
  readonly [
    K in keyof Key & string as [UnknownText<T, Key, K, W>] extends [never] ? never : NameOf<Key, K>
  ]: Mistake<`No entity has "${UnknownText<T, Key, K, W>}" as its ${K}.`>
}

/** A text of the query that is none of the texts which the type of the entities allows. */
type UnknownText<T, Key, K extends keyof Key & string, W> = Key[K] extends IndexProperties[string]
  ? Extract<ValueIn<T, K, Key[K]>, string> extends infer Allowed extends string
    ? string extends Allowed
      ? never
      : Exclude<LiteralText<ValueOf<W, NameOf<Key, K>>>, Allowed>
    : never
  : never

type LiteralText<V> = V extends string ? (string extends V ? never : V) : never

type ValueOf<W, Name> = Name extends keyof W ? W[Name] : never

/** Many queries of an index. The second list gives the callback of a `map` the values of union types. */
export type CheckedWheres<T, Keys extends readonly unknown[], ShardOn, W, Scatter> = readonly CheckedWhere<
  T,
  Keys,
  ShardOn,
  W,
  Scatter
>[] &
  readonly SuggestedWhere<T, Keys>[]

type WhereMistake<Names extends readonly string[], W> = W extends unknown
  ? [Exclude<keyof W, Names[number]>] extends [never]
    ? OrderMistake<Names, W>
    : `The index has no property "${Exclude<keyof W, Names[number]> & string}"; it has ${Joined<Names>}.`
  : never

/** Checks the properties of the index in order: values, then at most one range, then nothing. */
type OrderMistake<Names extends readonly string[], W> = Names extends readonly [
  infer Name extends string,
  ...infer Rest extends readonly string[],
]
  ? {
      value: OrderMistake<Rest, W>
      range: AfterRange<Name, FirstGiven<Rest, W>>
      none: AfterNone<Name, FirstGiven<Rest, W>>
      unsure: `The value of ${Name} may be undefined, which would ask for all of them: give a value, or leave ${Name} out.`
    }[GivenAs<W, Name>]
  : never

type AfterRange<Name extends string, Given> = Given extends string
  ? `${Given} cannot be given behind the range on ${Name}: a range has to be on the last property that is given.`
  : never

type AfterNone<Name extends string, Given> = Given extends string
  ? `${Given} cannot be given without a value of ${Name}, which stands before it in the index.`
  : never

/** The first of these properties that the query gives. */
type FirstGiven<Names extends readonly string[], W> = Names extends readonly [
  infer Name extends string,
  ...infer Rest extends readonly string[],
]
  ? GivenAs<W, Name> extends 'none'
    ? FirstGiven<Rest, W>
    : Name
  : never

/** The condition of a query on a property. `any` counts as a value. */
type GivenAs<W, Name extends string> = Name extends keyof W
  ? IsAny<W[Name]> extends true
    ? 'value'
    : [Exclude<W[Name], undefined>] extends [never]
      ? 'none'
      : [Exclude<W[Name], undefined>] extends [AnyRange]
        ? 'range'
        : undefined extends W[Name]
          ? 'unsure'
          : 'value'
  : 'none'

type IsAny<V> = 0 extends 1 & V ? true : false

/** A range with values of any type. Excludes strings, which have a method `startsWith`. */
type AnyRange = object & { readonly in?: never } & (
    | { readonly gt: unknown }
    | { readonly gte: unknown }
    | { readonly lt: unknown }
    | { readonly lte: unknown }
    | { readonly startsWith: unknown }
  )

type ScatterMistake<Names extends readonly string[], ShardOn, W, Scatter> = true extends Scatter
  ? never
  : ShardOn extends 'id'
    ? 'The index has its rows on the shards of their entities: ask all shards with { scatter: true }.'
    : ShardProperty<Names, ShardOn> extends infer Name extends string
      ? W extends unknown
        ? GivenAs<W, Name> extends 'value'
          ? never
          : `The index is sharded on ${Name}: give a value or a list for it, or ask all shards with { scatter: true }.`
        : never
      : never

/** The property that an index is sharded on. Default: the first. */
type ShardProperty<Names extends readonly string[], ShardOn> = ShardOn extends string ? ShardOn : Names[0]
