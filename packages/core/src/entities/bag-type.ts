import type { Bag } from './bag.ts'

/**
 * A `type` or `interface` of yours whose values can be stored, with nested types and arrays. A property that no codec stores
 * is a compile error that says why, as far as types can tell. `Bag` itself always fits.
 */
export type Storable<B> = B & (Bag | StorableObject<B>)

type AnyFunction = (...args: never[]) => unknown

/** The texts are messages that the compiler shows beside a property that does not fit. */
type StorableObject<B> = B extends readonly unknown[]
  ? 'An array is no bag of properties'
  : B extends AnyFunction
    ? 'A function is no bag of properties'
    : {
        readonly [Name in keyof B]: Name extends symbol ? 'Names have to be strings' : StorableValue<B[Name]>
      }

type StorableValue<V> = V extends null | undefined | boolean | number | bigint | string | Date | Uint8Array
  ? V
  : V extends AnyFunction
    ? 'A function cannot be stored'
    : V extends symbol
      ? 'A symbol cannot be stored'
      : V extends readonly (infer Item)[]
        ? readonly StorableItem<Item>[]
        : V extends object
          ? HasMethod<V> extends true
            ? 'Only plain objects can be stored'
            : StorableObject<V>
          : 'A value of unknown type cannot be stored'

type StorableItem<Item> = Item extends undefined ? 'An array cannot hold undefined' : StorableValue<Item>

type HasMethod<V> = true extends {
  [Name in keyof V]-?: V[Name] extends AnyFunction ? true : false
}[keyof V]
  ? true
  : false
