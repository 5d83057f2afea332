import { isPlainObject } from '@looseleaf/core/internal'
import { isSameThing, placesOf } from './identity.ts'
import { sameValue, valueOf, type Properties } from './same-value.ts'
import { unset } from './unset.ts'

/*
 * Keeps unknown properties through updates. A newer program may have stored properties that this program does not know: the names that
 * the output of its schema lacks. Unknown properties stay with their object, and disappear with it.
 */

/**
 * Applies a patch to a bag. `unset` removes a property. Properties that the patch does not name stay, and so do unknown properties of
 * objects that are still in the new values. `known` is `knownPart` of the bag, or `knownOfMisfit`.
 */
export function applyPatch(stored: Properties, known: Properties, patch: Properties): Properties {
  const result = new Map(Object.entries(stored))
  for (const [name, value] of Object.entries(patch)) {
    if (value === unset) result.delete(name)
    else result.set(name, withCarried(valueOf(stored, name), valueOf(known, name), value))
  }
  return Object.fromEntries(result)
}

/** Returns a new value with the unknown properties of the stored objects in it. */
function withCarried(stored: unknown, known: unknown, value: unknown): unknown {
  // The stored value has no unknown properties.
  if (stored === known) return value
  if (isPlainObject(stored) && isPlainObject(known) && isPlainObject(value)) {
    const looks = [() => known, () => stored, () => sharedPart(stored, known)]
    return isSameThing(stored, looks, value) ? carryInto(stored, known, value) : value
  }
  if (Array.isArray(stored) && Array.isArray(known) && Array.isArray(value)) {
    const looks = [() => stored, () => known, () => sharedPart(stored, known) as unknown[]]
    const places = placesOf(stored, looks, value)
    return value.map((element: unknown, i) => {
      const place = places[i]
      return place === undefined ? element : carryInto(stored[place], known[place], element)
    })
  }
  return value
}

/** Adds the unknown properties of a stored object to a value that is this object. */
function carryInto(stored: unknown, known: unknown, value: unknown): unknown {
  if (!isPlainObject(stored) || !isPlainObject(known) || !isPlainObject(value))
    return withCarried(stored, known, value)
  const result = new Map(Object.entries(stored).filter(([name]) => !Object.hasOwn(known, name)))
  for (const [name, property] of Object.entries(value)) {
    result.set(name, withCarried(valueOf(stored, name), valueOf(known, name), property))
  }
  return Object.fromEntries(result)
}

/** Returns the names that both values have, with the stored values. */
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

/** The unknown names of a bag, also within known objects. The names of all elements of an array are merged. */
export interface Unknown {
  /** `true` for an unknown name; otherwise the unknown names within a known one. */
  readonly names: Map<string, Unknown | true>
}

export function unknownOf(stored: unknown, known: unknown, into: Unknown = { names: new Map() }): Unknown {
  if (stored === known) return into
  if (isPlainObject(stored) && isPlainObject(known)) {
    for (const [name, value] of Object.entries(stored)) {
      const within = into.names.get(name)
      if (!Object.hasOwn(known, name)) into.names.set(name, true)
      else if (within !== true) into.names.set(name, unknownOf(value, known[name], within))
    }
  } else if (Array.isArray(stored) && Array.isArray(known) && stored.length === known.length) {
    for (const [i, item] of stored.entries()) unknownOf(item, known[i], into)
  }
  return into
}

/** Adds the unknown names of `full` to the output of a schema for `full`. */
export function withUnknown(unknown: Unknown | undefined, full: unknown, output: unknown): unknown {
  if (unknown === undefined || unknown.names.size === 0) return output
  if (isPlainObject(full) && isPlainObject(output)) {
    const result = new Map(Object.entries(output))
    for (const [name, value] of Object.entries(full)) {
      const within = unknown.names.get(name)
      if (!result.has(name)) {
        if (within === true) result.set(name, value)
      } else if (within !== true) result.set(name, withUnknown(within, value, output[name]))
    }
    return Object.fromEntries(result)
  }
  if (Array.isArray(full) && Array.isArray(output)) {
    // A schema may sort or shorten an array.
    const agreed = full.length === output.length && output.every((element, i) => agrees(element, full[i]))
    const places = agreed
      ? []
      : placesOf(full, [() => full.map((element) => without(unknown, element))], output)
    return output.map((element: unknown, i) => {
      const place = agreed ? i : places[i]
      return place === undefined ? element : withUnknown(unknown, full[place], element)
    })
  }
  return output
}

/** Tells whether an output has no value that differs from `full`. Names that only one of them has do not count. */
export function agrees(output: unknown, full: unknown): boolean {
  if (isPlainObject(output) && isPlainObject(full)) {
    return Object.keys(output).every((name) => !Object.hasOwn(full, name) || agrees(output[name], full[name]))
  }
  if (Array.isArray(output) && Array.isArray(full)) {
    return output.length === full.length && output.every((element, i) => agrees(element, full[i]))
  }
  return sameValue(output, full)
}

export function without(unknown: Unknown, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => without(unknown, element))
  if (!isPlainObject(value)) return value
  const rest: [string, unknown][] = []
  for (const [name, property] of Object.entries(value)) {
    const within = unknown.names.get(name)
    if (within !== true) rest.push([name, within === undefined ? property : without(within, property)])
  }
  return Object.fromEntries(rest)
}
