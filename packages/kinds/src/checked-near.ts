import type { IsUnion } from './checked-index.ts'
import type { Mistake } from './mistake.ts'
import type { ColumnAt, MayBeAbsent, PathOf } from './property-paths.ts'

/** The option `near` of a kind: a path, or a path with its type. */
export type NearOption = string | { readonly [path: string]: string }

/** The path in the option `near`. */
export type NearPath<Near> = Near extends string ? Near : keyof Near & string

/** Accepts a `near` by which every entity of the kind has a place; otherwise a sentence with the mistake. */
export type CheckedNear<T, Near> = Near extends undefined
  ? unknown
  : Near extends string
    ? string extends Near
      ? unknown
      : Near extends PathOf<T>
        ? PlaceMistake<T, Near>
        : Mistake<`The kind has no property "${Near}" to be near.`>
    : IsUnion<keyof Near> extends true
      ? Mistake<"The option near has one property: 'tenant', or { tenant: 'string' }.">
      : { [P in keyof Near & string]: TypedMistake<T, P, Near[P]> }[keyof Near & string]

type TypedMistake<T, Path extends string, Type> =
  Path extends PathOf<T>
    ? Type extends ColumnAt<T, Path>
      ? PlaceMistake<T, Path>
      : Mistake<`The property ${Path} does not hold the type that near has for it.`>
    : Mistake<`The kind has no property "${Path}" to be near.`>

type PlaceMistake<T, Path extends string> = [ColumnAt<T, Path>] extends [never]
  ? Mistake<`The property ${Path} holds nothing that an index could be sharded on, so it decides no place.`>
  : ColumnAt<T, Path> extends `${string}[]`
    ? Mistake<`The property ${Path} holds an array or lies in one, so it decides no single place.`>
    : MayBeAbsent<T, Path> extends true
      ? Mistake<`The property ${Path} may be absent or null, and then it decides no place.`>
      : unknown

/** The part of a value that decides the place of its entity. */
export type PlacedBy<In, Near> = [NearPath<Near>] extends [infer Path extends keyof In]
  ? Pick<In, Path>
  : object
