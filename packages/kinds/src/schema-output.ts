import { LooseleafError } from '@looseleaf/core'
import { isPlainObject } from '@looseleaf/core/internal'
import { placesOf } from './identity.ts'
import { sameValue, valueOf } from './same-value.ts'

/*
 * Compares the output of a schema with its input. A schema may change its own output when it is applied again, for example if it hashes a
 * password. So an output never replaces a stored value without a comparison of both.
 */

/** Adds to a stored value the names that the schema adds, such as defaults. Returns the value itself if there are none. */
export function filledIn(stored: unknown, output: unknown): unknown {
  if (stored === output) return stored
  if (isPlainObject(stored) && isPlainObject(output)) {
    let filled: Record<string, unknown> | undefined
    for (const [name, value] of Object.entries(output)) {
      if (value === undefined) continue
      const storedValue = valueOf(stored, name)
      // Some libraries return one default object to every caller, and callers may mutate it.
      const filledValue = storedValue === undefined ? copyOf(value) : filledIn(storedValue, value)
      if (filledValue === storedValue) continue
      filled ??= { ...stored }
      filled[name] = filledValue
    }
    return filled ?? stored
  }
  if (Array.isArray(stored) && Array.isArray(output) && stored.length === output.length) {
    const elements = stored.map((element, i) => filledIn(element, output[i]))
    return elements.some((element, i) => element !== stored[i]) ? elements : stored
  }
  return stored
}

/** Returns a stored value as the program knows it: filled in, and without the names that the schema leaves out. */
export function knownPart(stored: unknown, output: unknown): unknown {
  if (stored === output) return stored
  if (isPlainObject(stored) && isPlainObject(output)) {
    let same = true
    const known: [string, unknown][] = []
    for (const name of Object.keys(stored)) {
      if (!Object.hasOwn(output, name)) {
        same = false
        continue
      }
      const value = knownPart(stored[name], output[name])
      known.push([name, value])
      same &&= value === stored[name]
    }
    for (const [name, value] of Object.entries(output)) {
      if (value === undefined || Object.hasOwn(stored, name)) continue
      same = false
      known.push([name, copyOf(value)])
    }
    return same ? stored : Object.fromEntries(known)
  }
  if (Array.isArray(stored) && Array.isArray(output) && stored.length === output.length) {
    const elements = stored.map((element, i) => knownPart(element, output[i]))
    return elements.some((element, i) => element !== stored[i]) ? elements : stored
  }
  return stored
}

/** Returns the names that `filledIn` has added, with dots into objects. Leaves out nulls, which an index treats like absent values. */
export function addedNames(
  stored: unknown,
  filled: unknown,
  path = '',
  into: Set<string> = new Set(),
): Set<string> {
  if (stored === filled) return into
  if (isPlainObject(stored) && isPlainObject(filled)) {
    for (const [name, value] of Object.entries(filled)) {
      const storedValue = valueOf(stored, name)
      if (storedValue !== undefined) addedNames(storedValue, value, `${path}${name}.`, into)
      else if (value !== null) into.add(`${path}${name}`)
    }
  } else if (Array.isArray(stored) && Array.isArray(filled)) {
    for (const [i, element] of stored.entries()) addedNames(element, filled[i], path, into)
  }
  return into
}

const copyOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? structuredClone(value) : value

export interface Outputs {
  readonly given: unknown
  readonly once: unknown
  readonly twice: unknown
  /** True if `given` may be an output already, for example the result of an edit. */
  readonly mayBeOutput: boolean
}

/**
 * Returns the value to store, part by part. A part whose output the schema would change again stays if it equals the stored one, and
 * otherwise becomes the output for the given value. Throws `SCHEMA_MISMATCH` with the path if such a part may be an output already,
 * because it is unknown whether the schema still has to be applied.
 */
export function settled(
  stored: unknown,
  outputs: Outputs,
  subject: string,
  path: readonly PropertyKey[] = [],
): unknown {
  const { given, once, twice, mayBeOutput } = outputs
  if (sameValue(once, twice)) return once
  if (isPlainObject(given) && isPlainObject(once) && isPlainObject(twice)) {
    const before = isPlainObject(stored) ? stored : {}
    const parts = Object.entries(once).map(([name, value]) => {
      const part = { given: valueOf(given, name), once: value, twice: valueOf(twice, name), mayBeOutput }
      return [name, settled(valueOf(before, name), part, subject, [...path, name])] as const
    })
    return Object.fromEntries(parts)
  }
  if (Array.isArray(given) && Array.isArray(once) && Array.isArray(twice) && sameLength(given, once, twice)) {
    const before = Array.isArray(stored) ? stored : []
    const places = placesOf(before, [() => before], given)
    return once.map((value: unknown, i) => {
      const place = places[i]
      const part = { given: given[i] as unknown, once: value, twice: twice[i] as unknown, mayBeOutput }
      return settled(place === undefined ? undefined : before[place], part, subject, [...path, i])
    })
  }
  if (given !== undefined) {
    if (sameValue(given, stored)) return stored
    if (mayBeOutput) throw mayBeTwice(subject, path)
  }
  return once
}

const sameLength = (...arrays: readonly (readonly unknown[])[]): boolean =>
  arrays.every(({ length }) => length === arrays[0]!.length)

function mayBeTwice(subject: string, path: readonly PropertyKey[]): LooseleafError {
  const property = path.map(String).join('.')
  const message = `the schema changes this value each time that it is applied, and may have been applied to it before`
  return new LooseleafError(
    'SCHEMA_MISMATCH',
    `${subject} is not written: ${property || 'the whole'}: ${message}. Give a value that the schema has not seen, in an object without a version.`,
    { issues: [{ message, path: [...path] }] },
  )
}
