import type { unchanged } from '@looseleaf/store'
import type { Mistake } from './mistake.ts'
import type { unset } from './unset.ts'

/**
 * A patch in object form: the properties to change. `unset` removes an optional property. `undefined` is refused. Other properties stay
 * as they are stored.
 */
export type Changes<T> = {
  readonly [K in keyof T]?:
    | Exclude<T[K], undefined>
    | (Record<never, never> extends Pick<T, K> ? typeof unset : undefined extends T[K] ? typeof unset : never)
}

export type Edited<T> = Changes<T> | T | typeof unchanged

/**
 * A change of an entity: an object with the properties to change, a whole value such as an item, or an edit. An edit is a function of the
 * current entity that returns either of them, or `unchanged` to keep the entity. It may be called several times.
 */
export type Patch<T> = Changes<T> | T | ((now: T) => Edited<T>)

/**
 * A patch, or a sentence if its edit returns a property that the kind does not have. `R` is the type that the edit returns. The compiler
 * itself reports such a property only in an object that is written in place.
 */
export type CheckedPatch<T, R> = Changes<T> | T | ((now: T) => R & KnownNames<T, R>)

/** The first condition accepts edits of the type `Patch<T>`, also where `T` is a type parameter. */
type KnownNames<T, R> = [Edited<T>] extends [R]
  ? unknown
  : [UnknownName<T, R>] extends [never]
    ? unknown
    : Mistake<`The kind has no property "${UnknownName<T, R>}" to change.`>

/** Names of every variant of the result that no variant of the kind has. A result with names that the compiler does not know has none. */
type UnknownName<T, R> = R extends object
  ? string extends keyof R
    ? never
    : Exclude<keyof R & string, NameIn<T> | 'id' | 'version'>
  : never

type NameIn<T> = T extends unknown ? keyof T : never
