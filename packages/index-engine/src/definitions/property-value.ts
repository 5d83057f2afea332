import type { Bag } from '@looseleaf/core'
import { isPlainObject } from '@looseleaf/core/internal'

/**
 * Reads a property of a bag by name or path. The property with the whole name takes precedence. Otherwise the dots of the name lead
 * through objects. An array on the way gives one array with the values of all its elements: rows for a property with `[]`, a misfit for
 * one without. Undefined if there is no value.
 */
export function propertyValue(bag: Bag, name: string): unknown {
  const value: unknown = Object.hasOwn(bag, name) ? bag[name] : undefined
  if (value !== undefined) return value
  return isPath(name) ? follow(bag, stepsOf(name), 0) : undefined
}

/** Tells whether a name leads into objects. */
export function isPath(name: string): boolean {
  return name.includes('.')
}

function follow(value: unknown, steps: readonly string[], position: number): unknown {
  const step = steps[position]
  if (step === undefined) return value
  if (Array.isArray(value)) {
    // `flatMap` also concatenates arrays at the end of the path.
    const values = value
      .flatMap((element: unknown) => follow(element, steps, position) ?? [])
      .filter(isPresent)
    return values.length === 0 ? undefined : values
  }
  if (!isPlainObject(value) || !Object.hasOwn(value, step)) return undefined
  return follow(value[step], steps, position + 1)
}

/** By name. Unbounded, because the names come from definitions. */
const paths = new Map<string, readonly string[]>()

function stepsOf(name: string): readonly string[] {
  let steps = paths.get(name)
  if (steps === undefined) paths.set(name, (steps = name.split('.')))
  return steps
}

function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined
}
