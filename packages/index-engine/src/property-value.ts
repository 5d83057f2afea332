import type { Bag, IndexedProperty } from '@looseleaf/core'

/**
 * What an index finds in a bag under the name of a property: the property of that very name, or, where the bag has none and
 * the name has dots, what they lead to step by step through objects. For a property with [] they lead through arrays as
 * well: to all that is found in their elements, as one array. Undefined where they lead to nothing.
 */
export function propertyValue(bag: Bag, { name, many }: IndexedProperty): unknown {
  const own: unknown = Object.hasOwn(bag, name) ? bag[name] : undefined
  if (own !== undefined) return own
  return isPath(name) ? follow(bag, name.split('.'), many) : undefined
}

function follow(value: unknown, [step, ...rest]: readonly string[], many: boolean): unknown {
  if (step === undefined) return value
  if (many && Array.isArray(value)) {
    // Arrays at the end of the path are laid together, which `flatMap` does.
    const found = value.flatMap((element: unknown) => follow(element, [step, ...rest], many) ?? [])
    return found.length === 0 ? undefined : found
  }
  if (!isObject(value) || !Object.hasOwn(value, step)) return undefined
  return follow(value[step], rest, many)
}

/** Whether a name leads into objects. */
export function isPath(name: string): boolean {
  return name.includes('.')
}

function isObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
