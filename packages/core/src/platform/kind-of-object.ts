/*
 * Type tests that hold in every realm. Jest, `vm` contexts and iframes have a `Date`, `Uint8Array` and `Error` of their own,
 * which `instanceof` does not recognize. A lint rule makes every package use these tests.
 */

/** Returns the class name of a typed array; undefined for any other value. */
const typedArrayName = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as (this: unknown) => string | undefined

const tagOf = Object.prototype.toString
const timeOf = Date.prototype.getTime

/** Returns true for a Date, including invalid ones and those of subclasses. */
export function isDate(value: unknown): value is Date {
  if (typeof value !== 'object' || value === null) return false
  if (!(value instanceof Date) && tagOf.call(value) !== '[object Date]') return false
  try {
    timeOf.call(value)
    return true
  } catch {
    // An object with the tag of a Date, but without its time.
    return false
  }
}

/** Returns true for a Uint8Array, and so for a Buffer. */
export function isBytes(value: unknown): value is Uint8Array {
  return typedArrayName.call(value) === 'Uint8Array'
}

/** Returns true for an object without a class, as literals and codecs create it. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  // Object.prototype of another realm.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf')
}

/** Returns true for an Error, and so for a DOMException. */
export function isError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null) return false
  return value instanceof Error || /^\[object (Error|DOMException)\]$/.test(tagOf.call(value))
}

/** Returns true for a promise, and for any other object with a method `then`. False for an object that throws when it is asked, such as a revoked proxy. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== 'object' || value === null) return false
  try {
    return typeof (value as { readonly then?: unknown }).then === 'function'
  } catch {
    return false
  }
}
