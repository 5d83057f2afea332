import type { Bag, PropertyValue } from '@looseleaf/core'
import { hasNames, isObject } from './shape-candidates.ts'
import type { Shape } from './shape.ts'

/**
 * Returns the values of a bag in the order of a shape's names, which the bag has. Nested objects of the shape become arrays of their
 * values too. Undefined if the bag has an array where a reader would take it for the values of an object.
 */
export function valuesOf(object: Bag, { names, nested }: Shape): readonly PropertyValue[] | undefined {
  const values: PropertyValue[] = []
  for (let i = 0; i < names.length; i++) {
    const value = object[names[i] as string] as PropertyValue
    const shape = nested[i]
    const shaped =
      shape === undefined ? value : shape.inArray ? shapeElements(value, shape) : shapeValue(value, shape)
    if (shaped === undefined) return undefined
    values.push(shaped)
  }
  return values
}

function shapeValue(value: PropertyValue, shape: Shape): PropertyValue | undefined {
  if (Array.isArray(value)) return undefined
  return isObject(value) && hasNames(Object.keys(value), shape.names) ? valuesOf(value, shape) : value
}

function shapeElements(value: PropertyValue, shape: Shape): PropertyValue | undefined {
  if (!Array.isArray(value)) return value
  const elements: PropertyValue[] = []
  for (const element of value as readonly PropertyValue[]) {
    const shaped = shapeValue(element, shape)
    if (shaped === undefined) return undefined
    elements.push(shaped)
  }
  return elements
}
