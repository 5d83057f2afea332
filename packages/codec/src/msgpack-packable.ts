import type { Bag, PropertyValue } from '@looseleaf/core'

type Packable = PropertyValue | ReadonlyMap<string, Packable> | readonly Packable[]

/**
 * The bag as msgpackr has to be given it: without what is undefined, and with one NaN for all, so that equal bags have equal bytes.
 * An object that holds such a thing becomes a Map, which is packed as the same map, and an array another array; all else
 * is the same object as before, and nothing is changed in place.
 */
export function packableBag(bag: Bag): Packable {
  return packableObject(bag)
}

function packable(value: PropertyValue): Packable {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return packableArray(value as readonly PropertyValue[])
  if (value instanceof Date || value instanceof Uint8Array) return value
  return packableObject(value as Bag)
}

function packableObject(object: Bag): Packable {
  const names = Object.keys(object)
  let map: Map<string, Packable> | undefined
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    const value = object[name]
    const held = value === undefined ? undefined : packable(value)
    // NaN is not equal to itself.
    if (held !== value || held === undefined) {
      map ??= new Map(names.slice(0, i).map((earlier) => [earlier, object[earlier] as PropertyValue]))
    }
    if (map !== undefined && held !== undefined) map.set(name, Number.isNaN(held) ? NaN : held)
  }
  return map ?? object
}

function packableArray(array: readonly PropertyValue[]): Packable {
  let copy: Packable[] | undefined
  for (let i = 0; i < array.length; i++) {
    const held = packable(array[i] as PropertyValue)
    if (held !== array[i]) copy ??= array.slice(0, i)
    copy?.push(Number.isNaN(held) ? NaN : held)
  }
  return copy ?? array
}
