import type { Bag, PropertyValue } from '@looseleaf/core'
import { hasNames, isObject } from './shape-candidates.ts'
import type { Shape } from './shape.ts'

/**
 * The values of a bag, in the order of a shape's names, which are those of the bag. Objects within it that have the names of the
 * shape at their place are arrays of their values likewise. Undefined where the bag itself has an array at such a place, which
 * would be taken for the values of an object.
 */
export function valuesOf(object: Bag, { names, within }: Shape): readonly PropertyValue[] | undefined {
  const values: PropertyValue[] = []
  for (let i = 0; i < names.length; i++) {
    const value = object[names[i] as string] as PropertyValue
    const held = within[i]
    const standing =
      held === undefined ? value : held.each ? elementsWithin(value, held) : valueWithin(value, held)
    if (standing === undefined) return undefined
    values.push(standing)
  }
  return values
}

function valueWithin(value: PropertyValue, shape: Shape): PropertyValue | undefined {
  if (Array.isArray(value)) return undefined
  return isObject(value) && hasNames(Object.keys(value), shape.names) ? valuesOf(value, shape) : value
}

function elementsWithin(value: PropertyValue, shape: Shape): PropertyValue | undefined {
  if (!Array.isArray(value)) return value
  const elements: PropertyValue[] = []
  for (const element of value as readonly PropertyValue[]) {
    const standing = valueWithin(element, shape)
    if (standing === undefined) return undefined
    elements.push(standing)
  }
  return elements
}
