import type { PropertyType } from '@looseleaf/index-engine/internal'
import type { Mistake } from './mistake.ts'
import type { ColumnAt, KeyOptions, MayBeAbsent, PathOf } from './property-paths.ts'

/*
 * Types that describe the mistakes of an index definition in sentences. A wrong index gets the type `Mistake`, so the error of the
 * compiler contains the sentence.
 */

type IndexOption = 'by' | 'shardOn' | 'unique' | 'include' | 'onMisfit'

/** Accepts an index without mistakes; otherwise a sentence for the first mistake. */
export type CheckedIndex<T, Index> = [MistakeOf<T, Index>] extends [never]
  ? unknown
  : Mistake<MistakeOf<T, Index>>

/** The properties of an index definition. */
export type KeysOf<Index> = Index extends { readonly by: infer Keys extends readonly unknown[] }
  ? Keys
  : never

/** The names that an index has for its properties. */
export type NamesOf<Keys extends readonly unknown[]> = Keys extends readonly [infer Key, ...infer Rest]
  ? [NameOf<Key>, ...NamesOf<Rest>]
  : []

type NameOf<Key> = {
  [K in keyof Key & string]: Key[K] extends { readonly as: infer Name extends string } ? Name : K
}[keyof Key & string]

/** Joins texts with commas: `a, b, c`. */
export type Joined<Texts extends readonly string[]> = Texts extends readonly [
  infer First extends string,
  ...infer Rest extends readonly string[],
]
  ? Rest extends readonly []
    ? First
    : `${First}, ${Joined<Rest>}`
  : ''

type MistakeOf<T, Index> = Or<
  OptionMistake<Exclude<keyof Index & string, IndexOption>>,
  Or<
    Or<ByMistake<Index>, KeysMistake<T, KeysOf<Index>>>,
    Or<ShardMistake<Index, NamesOf<KeysOf<Index>>>, IncludeMistake<T, Index>>
  >
>

/** The first of two mistakes, because an error has one sentence. */
type Or<Sentence, Other> = [Sentence] extends [never] ? Other : Sentence

type OptionMistake<Unknown extends string> = [Unknown] extends [never]
  ? never
  : 'on' extends Unknown
    ? "An index of a kind takes no on. To leave entities out of it, or to free their unique keys, index a property that is null or an empty array in them, with nulls: 'skip'."
    : `An index has no option "${Unknown}"; there are by, shardOn, unique, include, onMisfit.`

type ByMistake<Index> = Index extends { readonly by: readonly [unknown, ...unknown[]] } ? never : ByForm

type ByForm =
  "The option by has to be a list of one to eight properties, each in an object of its own: [{ status: 'string' }, { due: 'time' }]."

type KeysMistake<T, Keys extends readonly unknown[]> = Keys extends readonly [infer Key, ...infer Rest]
  ? Or<KeyMistake<T, Key>, KeysMistake<T, Rest>>
  : never

type KeyMistake<T, Key> = [Key] extends [object]
  ? [keyof Key] extends [never]
    ? ObjectMistake
    : IsUnion<keyof Key> extends true
      ? ObjectMistake
      : { [P in keyof Key & string]: PropertyMistake<T, P, Key[P]> }[keyof Key & string]
  : ObjectMistake

type ObjectMistake =
  "Each property of an index stands in an object of its own: [{ status: 'string' }, { due: 'time' }]."

type PropertyMistake<T, Path extends string, Spec> =
  Path extends PathOf<T>
    ? Spec extends string
      ? Or<TypeMistake<T, Path, Spec>, NullsMistake<T, Path>>
      : Spec extends { readonly type: infer Type extends string }
        ? Or<
            Or<
              KeyOptionMistake<Path, Exclude<keyof Spec & string, keyof KeyOptions<string>>>,
              TypeMistake<T, Path, Type>
            >,
            Or<
              Spec extends { readonly nulls: string } ? never : NullsMistake<T, Path>,
              Or<OptionValueMistake<Path, Spec>, KeyTypeMistake<Path, Type, Spec>>
            >
          >
        : `The property ${Path} needs a type, such as 'string' or { type: 'string', order: 'desc' }.`
    : `The kind has no property "${Path}" to index.`

type KeyOptionMistake<Path extends string, Unknown extends string> = [Unknown] extends [never]
  ? never
  : `The property ${Path} has no option "${Unknown}"; there are type, as, key, order, nulls.`

type OptionValueMistake<Path extends string, Spec> = Or<
  Or<
    ValueMistake<Path, Spec, 'nulls', "'first', 'last' or 'skip'">,
    ValueMistake<Path, Spec, 'order', "'asc' or 'desc'">
  >,
  Or<
    ValueMistake<
      Path,
      Spec,
      'key',
      "'lower', 'lowerNfc', 'prefix(n)', 'host', 'hash', 'hour', 'day', 'month' or what defineKey gives"
    >,
    ValueMistake<Path, Spec, 'as', 'a name'>
  >
>

/** The type that a built-in key takes. */
type KeyTypeMistake<Path extends string, Type extends string, Spec> = Spec extends {
  readonly key: infer Key extends string
}
  ? Key extends 'hour' | 'day' | 'month'
    ? KeyFitMistake<Path, Type, Key, 'time'>
    : Key extends 'lower' | 'lowerNfc' | `prefix(${number})` | 'host' | 'hash'
      ? KeyFitMistake<Path, Type, Key, 'string'>
      : never
  : never

type KeyFitMistake<
  Path extends string,
  Type extends string,
  Key extends string,
  From extends string,
> = Type extends From | `${From}[]`
  ? never
  : `The key '${Key}' of ${Path} takes the type '${From}', not '${Type}'.`

type ValueMistake<
  Path extends string,
  Spec,
  Option extends keyof KeyOptions<string>,
  Allowed extends string,
> =
  Spec extends Readonly<Record<Option, unknown>>
    ? Spec[Option] extends KeyOptions<string>[Option]
      ? never
      : `The option ${Option} of ${Path} has to be ${Allowed}.`
    : never

type TypeMistake<T, Path extends string, Type extends string> =
  Type extends ColumnAt<T, Path>
    ? never
    : [ColumnAt<T, Path>] extends [never]
      ? `The property ${Path} holds what no index can hold; dots lead into objects, as in "author.id".`
      : `${Type}[]` extends ColumnAt<T, Path>
        ? `The property ${Path} holds an array or lies in one, so its type is '${Type}[]'.`
        : Type extends PropertyType
          ? `The property ${Path} does not hold what an index of type '${Type}' holds.`
          : `An index has no type '${Type}'; there are 'uuid', 'string', 'integer', 'number', 'boolean' and 'time', and with [] arrays of them.`

type NullsMistake<T, Path extends string> =
  MayBeAbsent<T, Path> extends true
    ? `The property ${Path} may be absent or null: add nulls: 'first' or 'last' to index such entities, or 'skip' to leave them out.`
    : never

type ShardMistake<Index, Names extends readonly string[]> = Index extends {
  readonly shardOn: infer Shard extends string
}
  ? Shard extends Names[number] | 'id'
    ? 'id' extends Shard
      ? Index extends { readonly unique: true }
        ? "A unique index needs a property as its shardOn, not 'id', because equal keys have to meet on one shard."
        : never
      : never
    : `shardOn is "${Shard}", which is none of the index's properties (${Joined<Names>}) and not 'id'.`
  : never

type IncludeMistake<T, Index> = Index extends { readonly include: readonly (infer Name extends string)[] }
  ? Name extends PathOf<T>
    ? never
    : `The kind has no property "${Name}" to include.`
  : never

export type IsUnion<U, Each = U> = Each extends unknown ? ([U] extends [Each] ? false : true) : never
