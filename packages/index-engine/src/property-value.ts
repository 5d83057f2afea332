import { isPlainObject, type Bag } from '@looseleaf/core'

/**
 * What an index finds in a bag under the name of a property: the property of that very name, or, where the bag has none and
 * the name has dots, what they lead to step by step through objects. Through an array they lead to all that is found in its
 * elements, as one array: rows for a property with [], and a misfit for one without. Undefined where they lead to nothing.
 */
export function propertyValue(bag: Bag, name: string): unknown {
  const own: unknown = Object.hasOwn(bag, name) ? bag[name] : undefined
  if (own !== undefined) return own
  return isPath(name) ? follow(bag, stepsOf(name), 0) : undefined
}

/** Whether a name leads into objects. */
export function isPath(name: string): boolean {
  return name.includes('.')
}

function follow(value: unknown, steps: readonly string[], at: number): unknown {
  const step = steps[at]
  if (step === undefined) return value
  if (Array.isArray(value)) {
    // Arrays at the end of the path are laid together, which `flatMap` does.
    const found = value.flatMap((element: unknown) => follow(element, steps, at) ?? []).filter(isThere)
    return found.length === 0 ? undefined : found
  }
  if (!isPlainObject(value) || !Object.hasOwn(value, step)) return undefined
  return follow(value[step], steps, at + 1)
}

/** Of the names of properties in definitions, of which there are few. */
const paths = new Map<string, readonly string[]>()

function stepsOf(name: string): readonly string[] {
  let steps = paths.get(name)
  if (steps === undefined) paths.set(name, (steps = name.split('.')))
  return steps
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined
}
