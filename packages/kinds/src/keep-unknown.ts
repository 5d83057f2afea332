import { serialize } from 'node:v8'
import { isPlainObject } from '@looseleaf/core'

/*
 * What a newer version of a program has stored beside what this one knows stays when this one updates. What this one knows of an
 * entity is what its schema makes of what is `stored`: all else is unknown to it.
 */

type Properties = { readonly [name: string]: unknown }

/**
 * What is stored after a patch. A value that is undefined removes a property; what is not named at the top stays, and within what
 * is named what is unknown.
 */
export function applyPatch(stored: Properties, known: Properties, patch: Properties): Properties {
  const result = new Map(Object.entries(stored))
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) result.delete(name)
    else result.set(name, carried(own(stored, name), own(known, name), value))
  }
  return Object.fromEntries(result)
}

/** A new value, with what is unknown of the old one. */
function carried(stored: unknown, known: unknown, value: unknown): unknown {
  if (stored === known) return value
  if (isPlainObject(stored) && isPlainObject(known) && isPlainObject(value)) {
    const result = new Map(Object.entries(stored).filter(([name]) => !Object.hasOwn(known, name)))
    for (const [name, one] of Object.entries(value)) {
      result.set(name, carried(own(stored, name), own(known, name), one))
    }
    return Object.fromEntries(result)
  }
  if (Array.isArray(stored) && Array.isArray(known) && Array.isArray(value)) {
    const places = placesOf(known, value)
    return value.map((item: unknown, i) => {
      const place = places[i]
      return place === undefined ? item : carried(stored[place], known[place], item)
    })
  }
  return value
}

/**
 * Where each element of a new array was in the old one: one that is as it was is that one, wherever it stands now, its own place
 * first; another is the one that was in its place, if that has not gone elsewhere.
 */
function placesOf(before: readonly unknown[], now: readonly unknown[]): (number | undefined)[] {
  const [keysBefore, keysNow] = [before.map(keyOf), now.map(keyOf)]
  const places = keysNow.map((key, i): number | undefined => (key === keysBefore[i] ? i : undefined))
  const taken = new Set(places)
  const free = new Map<string, number[]>()
  for (const [i, key] of keysBefore.entries()) {
    if (!taken.has(i)) free.set(key, [...(free.get(key) ?? []), i])
  }
  for (const [i, key] of keysNow.entries()) {
    if (places[i] !== undefined) continue
    const place = free.get(key)?.shift()
    if (place === undefined) continue
    places[i] = place
    taken.add(place)
  }
  return places.map((place, i) => place ?? (i < before.length && !taken.has(i) ? i : undefined))
}

const keyOf = (value: unknown): string => serialize(value).toString('latin1')

/** Names that are stored and not known, within what is known of others too; of all elements of an array together. */
export interface Unknown {
  /** Of a name that is unknown altogether: `true`. */
  readonly names: Map<string, Unknown | true>
}

export function unknownOf(stored: unknown, known: unknown, into: Unknown = { names: new Map() }): Unknown {
  if (isPlainObject(stored) && isPlainObject(known)) {
    for (const [name, value] of Object.entries(stored)) {
      if (!Object.hasOwn(known, name)) {
        into.names.set(name, true)
        continue
      }
      const within = into.names.get(name)
      if (within !== true) into.names.set(name, unknownOf(value, known[name], within))
    }
  } else if (Array.isArray(stored) && Array.isArray(known) && stored.length === known.length) {
    for (const [i, item] of stored.entries()) unknownOf(item, known[i], into)
  }
  return into
}

/** What a schema has made of `full`, with what is unknown to it and was left out. */
export function withUnknown(unknown: Unknown | undefined, full: unknown, made: unknown): unknown {
  if (unknown === undefined || unknown.names.size === 0) return made
  if (isPlainObject(full) && isPlainObject(made)) {
    const result = new Map(Object.entries(made))
    for (const [name, value] of Object.entries(full)) {
      const within = unknown.names.get(name)
      if (!result.has(name)) {
        if (within === true) result.set(name, value)
      } else if (within !== true) result.set(name, withUnknown(within, value, made[name]))
    }
    return Object.fromEntries(result)
  }
  if (Array.isArray(full) && Array.isArray(made) && full.length === made.length) {
    return made.map((item: unknown, i) => withUnknown(unknown, full[i], item))
  }
  return made
}

const own = (object: Properties, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined
