import { isPlainObject } from '@looseleaf/core'
import { keyOf, sameValue, valueOf } from './same-value.ts'

/*
 * Tells which object of a new value is the same thing as a stored one: the one with an equal `id`, or the one that looks the same.
 * A place in an array, or the name of a property, says nothing: another thing may stand there now.
 */

/** The `id` that makes an object known again. */
function idOf(value: unknown): string | undefined {
  const id = isPlainObject(value) ? valueOf(value, 'id') : undefined
  return id === undefined || id === null ? undefined : keyOf(id)
}

/** Tells whether an object is the stored one. `looks` are the values by which a program may know the stored one. */
export function isSameThing(stored: unknown, looks: readonly (() => unknown)[], value: unknown): boolean {
  const [before, now] = [idOf(stored), idOf(value)]
  if (before !== undefined && now !== undefined) return before === now
  return looks.some((look) => sameValue(look(), value))
}

/**
 * Returns for each element of a new array the place in the stored one of the element that is the same thing. Elements that look alike
 * keep their own places first, and their order otherwise. If one of several that look alike is gone, and they are not stored alike, the
 * program cannot tell which one it was, and none is known again. `looks` give arrays by whose elements the stored ones may be known,
 * such as the stored array.
 */
export function placesOf(
  stored: readonly unknown[],
  looks: readonly (() => readonly unknown[])[],
  now: readonly unknown[],
): (number | undefined)[] {
  const places = Array.from<number | undefined>({ length: now.length })
  const taken = new Set<number>()
  const take = (i: number, place: number): void => {
    places[i] = place
    taken.add(place)
  }
  const idsBefore = uniqueIds(stored)
  for (const [id, i] of uniqueIds(now)) {
    const place = idsBefore.get(id)
    if (place !== undefined) take(i, place)
  }
  for (const look of looks) {
    if (taken.size === stored.length || taken.size === now.length) break
    const wanted = placesByKey(now, (i) => places[i] === undefined)
    for (const [key, free] of placesByKey(look(), (place) => !taken.has(place))) {
      const alike = wanted.get(key)
      if (alike === undefined) continue
      if (free.length > alike.length && !allSame(free.map((place) => stored[place]))) continue
      for (const [i, place] of pairs(alike, free)) take(i, place)
    }
  }
  return places
}

/** Pairs equal places first, and the others in their order. */
function pairs(alike: readonly number[], free: readonly number[]): readonly (readonly [number, number])[] {
  const [i, place] = [alike[0]!, free[0]!]
  if (alike.length === 1 && free.length === 1) return [[i, place]]
  const isFree = new Set(free)
  const own = new Set(alike.filter((one) => isFree.has(one)))
  const others = free.filter((one) => !own.has(one))
  const moved = alike.filter((one) => !own.has(one)).slice(0, others.length)
  return [
    ...Array.from(own, (one) => [one, one] as const),
    ...moved.map((one, n) => [one, others[n]!] as const),
  ]
}

/** Ids that one element has; an id of several tells none of them apart. */
function uniqueIds(elements: readonly unknown[]): Map<string, number> {
  const places = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [i, element] of elements.entries()) {
    const id = idOf(element)
    if (id === undefined) continue
    if (places.has(id)) repeated.add(id)
    places.set(id, i)
  }
  for (const id of repeated) places.delete(id)
  return places
}

function placesByKey(elements: readonly unknown[], has: (i: number) => boolean): Map<string, number[]> {
  const places = new Map<string, number[]>()
  for (const [i, element] of elements.entries()) {
    if (!has(i)) continue
    const key = keyOf(element)
    const alike = places.get(key)
    if (alike === undefined) places.set(key, [i])
    else alike.push(i)
  }
  return places
}

const allSame = ([first, ...others]: readonly unknown[]): boolean =>
  others.every((other) => sameValue(first, other))
