import { serialize } from 'node:v8'
import { isDate, isPlainObject } from '@looseleaf/core/internal'

/** A bag, or an object in one. */
export type Properties = { readonly [name: string]: unknown }

/** Returns the value of an own property; undefined if there is none. */
export const valueOf = (object: Properties, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** Tells whether two values are equal in storage: the order of names makes no difference, and an undefined property is absent. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b || Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameValue(item, b[i]))
  }
  if (isPlainObject(a)) {
    if (!isPlainObject(b)) return false
    for (const name in a) if (!sameValue(a[name], valueOf(b, name))) return false
    for (const name in b) if (b[name] !== undefined && !Object.hasOwn(a, name)) return false
    return true
  }
  if (isDate(a) && isDate(b)) return a.getTime() === b.getTime()
  return ArrayBuffer.isView(a) && ArrayBuffer.isView(b) && serialize(a).equals(serialize(b))
}

let others = 0

/** Returns a text for maps and sets. Two values of bags have the same text exactly if `sameValue` is true. */
export function keyOf(value: unknown): string {
  if (typeof value === 'string') return `"${value.length}:${value}`
  if (typeof value !== 'object' || value === null) return `${typeof value} ${String(value)},`
  if (Array.isArray(value)) return `[${value.map(keyOf).join('')}]`
  if (isPlainObject(value)) {
    const names = Object.keys(value).filter((name) => value[name] !== undefined)
    return `{${names
      .toSorted()
      .map((name) => keyOf(name) + keyOf(value[name]))
      .join('')}}`
  }
  if (isDate(value)) return `time ${value.getTime()},`
  if (ArrayBuffer.isView(value)) return `bytes ${serialize(value).toString('latin1')}`
  // Only the input of a schema may have any other value. It equals no value.
  return `other ${others++},`
}

/** Copies the objects, arrays and Dates of a value down to a depth, and shares its other values. */
export function copied(value: unknown, depth: number = Infinity): unknown {
  if (isDate(value)) return new Date(value)
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((element: unknown) => copied(element, depth - 1))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, property]) => [name, copied(property, depth - 1)]),
  )
}
