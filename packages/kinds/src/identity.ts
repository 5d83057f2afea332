import { isPlainObject } from '@looseleaf/core/internal'
import { keyOf, sameValue, valueOf } from './same-value.ts'

/*
 * Matches the objects of a new value with stored objects: an object is the stored one if its `id` is equal, or if it looks the same. A
 * position in an array, or a property name, is no evidence, because another object may be there now.
 */

/** Returns the `id` of an object in comparable form. */
function idOf(value: unknown): string | undefined {
  const id = isPlainObject(value) ? valueOf(value, 'id') : undefined
  return id === undefined || id === null ? undefined : keyOf(id)
}

/** Tells whether an object is the stored one. `looks` returns the forms in which the program may have seen the stored object. */
export function isSameThing(stored: unknown, looks: readonly (() => unknown)[], value: unknown): boolean {
  const [storedId, id] = [idOf(stored), idOf(value)]
  if (storedId !== undefined && id !== undefined) return storedId === id
  return looks.some((look) => sameValue(look(), value))
}

/**
 * Returns for each element of a new array its position in the stored array; undefined for a new element. Elements that look alike keep
 * their positions first, and their order otherwise. If some of several elements that look alike are missing, and the stored ones differ,
 * the missing ones cannot be identified, so none of them is matched. `looks` returns the arrays in which the program may have seen the
 * stored elements.
 */
export function placesOf(
  stored: readonly unknown[],
  looks: readonly (() => readonly unknown[])[],
  now: readonly unknown[],
): (number | undefined)[] {
  const places = Array.from<number | undefined>({ length: now.length })
  const taken = new Set<number>()
  const match = (i: number, place: number): void => {
    places[i] = place
    taken.add(place)
  }
  const idsBefore = uniqueIds(stored)
  for (const [id, i] of uniqueIds(now)) {
    const place = idsBefore.get(id)
    if (place !== undefined) match(i, place)
  }
  for (const look of looks) {
    if (taken.size === stored.length || taken.size === now.length) break
    const unmatched = placesByKey(now, (i) => places[i] === undefined)
    for (const [key, free] of placesByKey(look(), (place) => !taken.has(place))) {
      const alike = unmatched.get(key)
      if (alike === undefined) continue
      if (free.length > alike.length && !allSame(free.map((place) => stored[place]))) continue
      for (const [i, place] of pairs(alike, free)) match(i, place)
    }
  }
  return places
}

/** Pairs equal positions first, and the others in their order. */
function pairs(alike: readonly number[], free: readonly number[]): readonly (readonly [number, number])[] {
  const [i, place] = [alike[0]!, free[0]!]
  if (alike.length === 1 && free.length === 1) return [[i, place]]
  const isFree = new Set(free)
  const unmoved = new Set(alike.filter((position) => isFree.has(position)))
  const others = free.filter((position) => !unmoved.has(position))
  const moved = alike.filter((position) => !unmoved.has(position)).slice(0, others.length)
  return [
    ...Array.from(unmoved, (position) => [position, position] as const),
    ...moved.map((position, n) => [position, others[n]!] as const),
  ]
}

/** Returns the positions of elements by their ids, without ids that repeat. */
function uniqueIds(elements: readonly unknown[]): Map<string, number> {
  const places = Map.groupBy(elements.keys(), (i) => idOf(elements[i]))
  places.delete(undefined)
  return new Map(
    Array.from(places).flatMap(([id, [i, ...others]]) => (others.length > 0 ? [] : [[id!, i!] as const])),
  )
}

const placesByKey = (elements: readonly unknown[], has: (i: number) => boolean): Map<string, number[]> =>
  Map.groupBy([...elements.keys()].filter(has), (i) => keyOf(elements[i]))

const allSame = ([first, ...others]: readonly unknown[]): boolean =>
  others.every((other) => sameValue(first, other))
