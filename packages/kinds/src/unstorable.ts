import type { Leaf } from './property-paths.ts'

type AnyFunction = (...args: never[]) => unknown

/** A sentence for each property of a type that cannot be stored. `never` if the first four levels have no such property. */
export type Unstorable<T, Path extends string = '', Depth extends readonly unknown[] = []> = T extends unknown
  ? Depth['length'] extends 4
    ? never
    : { [K in keyof T & string]: UnstorableValue<T[K], `${Path}${K}`, Depth> }[keyof T & string]
  : never

type UnstorableValue<V, Path extends string, Depth extends readonly unknown[]> = V extends Leaf
  ? never
  : V extends AnyFunction
    ? Sentence<Path, 'a function'>
    : V extends symbol
      ? Sentence<Path, 'a symbol'>
      : V extends ReadonlyMap<unknown, unknown>
        ? Sentence<Path, 'a Map'>
        : V extends ReadonlySet<unknown>
          ? Sentence<Path, 'a Set'>
          : V extends PromiseLike<unknown>
            ? Sentence<Path, 'a promise'>
            : V extends readonly (infer Item)[]
              ? undefined extends Item
                ? Sentence<Path, 'an array with undefined in it'>
                : UnstorableValue<Item, `${Path}[]`, [...Depth, unknown]>
              : V extends object
                ? true extends { [K in keyof V]-?: V[K] extends AnyFunction ? true : false }[keyof V]
                  ? Sentence<Path, 'an object with methods'>
                  : Unstorable<V, `${Path}.`, [...Depth, unknown]>
                : Sentence<Path, 'a value of unknown type'>

type Sentence<
  Path extends string,
  Thing extends string,
> = `The property ${Path} holds ${Thing}, which cannot be stored.`
