/*
 * Tests for objects of the platform that hold in every realm: Jest, `vm` contexts and iframes have a `Date`, `Uint8Array` and
 * `Error` of their own, and `instanceof` knows those of one realm only. Every package tests by these; a lint rule makes sure.
 */

/** The name of a typed array's kind; undefined for any other value. */
const typedArrayName = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as (this: unknown) => string | undefined

const tagOf = Object.prototype.toString
const timeOf = Date.prototype.getTime

/** True for a Date, also an invalid one and one of a subclass. */
export function isDate(value: unknown): value is Date {
  if (typeof value !== 'object' || value === null) return false
  if (!(value instanceof Date) && tagOf.call(value) !== '[object Date]') return false
  try {
    timeOf.call(value)
    return true
  } catch {
    // An object that merely calls itself one.
    return false
  }
}

/** True for a Uint8Array, and so for a Buffer. */
export function isBytes(value: unknown): value is Uint8Array {
  return typedArrayName.call(value) === 'Uint8Array'
}

/** True for an object as literals and codecs make it: of no class, so no Date, no array and no bytes. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  // Object.prototype of another realm.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf')
}

/** True for an Error, and so for a DOMException. */
export function isError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null) return false
  return value instanceof Error || /^\[object (Error|DOMException)\]$/.test(tagOf.call(value))
}

/** True for a promise, and for any other object that can be awaited. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== 'object' || value === null) return false
  return typeof (value as { readonly then?: unknown }).then === 'function'
}
