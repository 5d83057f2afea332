import { isPlainObject, LooseleafError } from '@looseleaf/core'
import { placesOf } from './identity.ts'
import { sameValue, valueOf } from './same-value.ts'

/*
 * Compares the output of a schema with the value that it was made of. A schema may change its own output when it is applied again,
 * as one that hashes a password does, so the output is never taken for a stored value without a look at both.
 */

/** The stored value with the names that the schema adds, as defaults are: the value itself where it adds none. */
export function filledIn(stored: unknown, made: unknown): unknown {
  if (stored === made) return stored
  if (isPlainObject(stored) && isPlainObject(made)) {
    let filled: Record<string, unknown> | undefined
    for (const [name, value] of Object.entries(made)) {
      if (value === undefined) continue
      const own = valueOf(stored, name)
      // Some libraries give the same default to every caller, who may change it.
      const now = own === undefined ? ownCopy(value) : filledIn(own, value)
      if (now === own) continue
      filled ??= { ...stored }
      filled[name] = now
    }
    return filled ?? stored
  }
  if (Array.isArray(stored) && Array.isArray(made) && stored.length === made.length) {
    const elements = stored.map((element, i) => filledIn(element, made[i]))
    return elements.some((element, i) => element !== stored[i]) ? elements : stored
  }
  return stored
}

/** The same without the names that the schema leaves out: as far as a program knows the stored value. */
export function knownPart(stored: unknown, made: unknown): unknown {
  if (stored === made) return stored
  if (isPlainObject(stored) && isPlainObject(made)) {
    let same = true
    const known: [string, unknown][] = []
    for (const name of Object.keys(stored)) {
      if (!Object.hasOwn(made, name)) {
        same = false
        continue
      }
      const value = knownPart(stored[name], made[name])
      known.push([name, value])
      same &&= value === stored[name]
    }
    for (const [name, value] of Object.entries(made)) {
      if (value === undefined || Object.hasOwn(stored, name)) continue
      same = false
      known.push([name, ownCopy(value)])
    }
    return same ? stored : Object.fromEntries(known)
  }
  if (Array.isArray(stored) && Array.isArray(made) && stored.length === made.length) {
    const elements = stored.map((element, i) => knownPart(element, made[i]))
    return elements.some((element, i) => element !== stored[i]) ? elements : stored
  }
  return stored
}

/** Names that `filledIn` has added, with dots into objects. A null is left out: to an index it is the same as no value. */
export function addedNames(
  stored: unknown,
  filled: unknown,
  path = '',
  into: Set<string> = new Set(),
): Set<string> {
  if (stored === filled) return into
  if (isPlainObject(stored) && isPlainObject(filled)) {
    for (const [name, value] of Object.entries(filled)) {
      const own = valueOf(stored, name)
      if (own !== undefined) addedNames(own, value, `${path}${name}.`, into)
      else if (value !== null) into.add(`${path}${name}`)
    }
  } else if (Array.isArray(stored) && Array.isArray(filled)) {
    for (const [i, element] of stored.entries()) addedNames(element, filled[i], path, into)
  }
  return into
}

const ownCopy = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? structuredClone(value) : value

/** A value that was given, and the outputs of a schema for it. */
export interface Outputs {
  readonly given: unknown
  readonly once: unknown
  /** The output for `once`. */
  readonly twice: unknown
  /** True where `given` may be an output already, as in a patch that a function made of the stored entity. */
  readonly mayBeOutput: boolean
}

/**
 * The value to store where a schema changes its own output. A part that is as it is stored stays so. Any other part is the output
 * for the value that was given. Throws `SCHEMA_MISMATCH` with the path where that value may be an output already.
 */
export function settled(
  stored: unknown,
  outputs: Outputs,
  named: string,
  path: readonly PropertyKey[] = [],
): unknown {
  const { given, once, twice, mayBeOutput } = outputs
  if (sameValue(once, twice)) return once
  if (isPlainObject(given) && isPlainObject(once) && isPlainObject(twice)) {
    const before = isPlainObject(stored) ? stored : {}
    const parts = Object.entries(once).map(([name, value]) => {
      const part = { given: valueOf(given, name), once: value, twice: valueOf(twice, name), mayBeOutput }
      return [name, settled(valueOf(before, name), part, named, [...path, name])] as const
    })
    return Object.fromEntries(parts)
  }
  if (Array.isArray(given) && Array.isArray(once) && Array.isArray(twice) && sameLength(given, once, twice)) {
    const before = Array.isArray(stored) ? stored : []
    const places = placesOf(before, [() => before], given)
    return once.map((value: unknown, i) => {
      const place = places[i]
      const part = { given: given[i] as unknown, once: value, twice: twice[i] as unknown, mayBeOutput }
      return settled(place === undefined ? undefined : before[place], part, named, [...path, i])
    })
  }
  if (given !== undefined) {
    if (sameValue(given, stored)) return stored
    if (mayBeOutput) throw mayBeTwice(named, path)
  }
  return once
}

const sameLength = (...arrays: readonly (readonly unknown[])[]): boolean =>
  arrays.every(({ length }) => length === arrays[0]!.length)

function mayBeTwice(named: string, path: readonly PropertyKey[]): LooseleafError {
  const property = path.map(String).join('.')
  const message = `the schema changes this value each time that it is applied, and may have been applied to it before`
  return new LooseleafError(
    'SCHEMA_MISMATCH',
    `${named} is not written: ${property || 'the whole'}: ${message}. Give a value that the schema has not seen, in an object without a version.`,
    { issues: [{ message, path: [...path] }] },
  )
}
