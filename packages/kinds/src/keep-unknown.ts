import { isPlainObject } from '@looseleaf/core'
import { isSameThing, placesOf } from './identity.ts'
import { sameValue, valueOf, type Properties } from './same-value.ts'
import { unset } from './unset.ts'

/*
 * Properties that a newer program has stored beside those that this one knows stay when this one updates. A program knows the names
 * that its schema gives of a stored entity; all others are unknown to it. Unknown data stays with its thing, and goes with it.
 */

/**
 * The bag after a patch. `unset` removes a property; a name that the patch does not have stays, and so does unknown data within the
 * things that are still there. `known` is `knownPart` of the bag.
 */
export function applyPatch(stored: Properties, known: Properties, patch: Properties): Properties {
  const result = new Map(Object.entries(stored))
  for (const [name, value] of Object.entries(patch)) {
    if (value === unset) result.delete(name)
    else result.set(name, carried(valueOf(stored, name), valueOf(known, name), value))
  }
  return Object.fromEntries(result)
}

/** A new value, with the unknown data of the things in it that were there before. */
function carried(stored: unknown, known: unknown, value: unknown): unknown {
  // The stored value has no unknown data.
  if (stored === known) return value
  if (isPlainObject(stored) && isPlainObject(known) && isPlainObject(value)) {
    const looks = [() => known, () => stored, () => sharedPart(stored, known)]
    return isSameThing(stored, looks, value) ? carriedWithin(stored, known, value) : value
  }
  if (Array.isArray(stored) && Array.isArray(known) && Array.isArray(value)) {
    const looks = [() => stored, () => known, () => sharedPart(stored, known) as unknown[]]
    const places = placesOf(stored, looks, value)
    return value.map((element: unknown, i) => {
      const place = places[i]
      return place === undefined ? element : carriedWithin(stored[place], known[place], element)
    })
  }
  return value
}

/** The same for a value that is the stored thing. */
function carriedWithin(stored: unknown, known: unknown, value: unknown): unknown {
  if (!isPlainObject(stored) || !isPlainObject(known) || !isPlainObject(value))
    return carried(stored, known, value)
  const result = new Map(Object.entries(stored).filter(([name]) => !Object.hasOwn(known, name)))
  for (const [name, one] of Object.entries(value)) {
    result.set(name, carried(valueOf(stored, name), valueOf(known, name), one))
  }
  return Object.fromEntries(result)
}

/** The names that both have, with the stored values. */
function sharedPart(stored: unknown, known: unknown): unknown {
  if (isPlainObject(stored) && isPlainObject(known)) {
    const shared = Object.keys(known).filter((name) => Object.hasOwn(stored, name))
    return Object.fromEntries(shared.map((name) => [name, sharedPart(stored[name], known[name])]))
  }
  if (Array.isArray(stored) && Array.isArray(known)) {
    return stored.map((element, i) => sharedPart(element, known[i]))
  }
  return stored
}

/** Names that are stored and not known, within known objects too; those of all elements of an array together. */
export interface Unknown {
  /** `true` for a name that is unknown with all that is under it. */
  readonly names: Map<string, Unknown | true>
}

export function unknownOf(stored: unknown, known: unknown, into: Unknown = { names: new Map() }): Unknown {
  if (stored === known) return into
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

/** The output of a schema for `full`, with the unknown names of `full` that it has left out. */
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
  if (Array.isArray(full) && Array.isArray(made)) {
    // A schema may sort or shorten an array.
    const agreed = full.length === made.length && made.every((element, i) => agrees(element, full[i]))
    const places = agreed
      ? []
      : placesOf(full, [() => full.map((element) => without(unknown, element))], made)
    return made.map((element: unknown, i) => {
      const place = agreed ? i : places[i]
      return place === undefined ? element : withUnknown(unknown, full[place], element)
    })
  }
  return made
}

/** Tells whether two values have nothing that contradicts: a name that only one of them has does not. */
export function agrees(made: unknown, full: unknown): boolean {
  if (isPlainObject(made) && isPlainObject(full)) {
    return Object.keys(made).every((name) => !Object.hasOwn(full, name) || agrees(made[name], full[name]))
  }
  if (Array.isArray(made) && Array.isArray(full)) {
    return made.length === full.length && made.every((element, i) => agrees(element, full[i]))
  }
  return sameValue(made, full)
}

/** A value without its unknown names. */
function without(unknown: Unknown, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => without(unknown, element))
  if (!isPlainObject(value)) return value
  const rest: [string, unknown][] = []
  for (const [name, one] of Object.entries(value)) {
    const within = unknown.names.get(name)
    if (within !== true) rest.push([name, within === undefined ? one : without(within, one)])
  }
  return Object.fromEntries(rest)
}
