import { LooseleafError } from '@looseleaf/core'
import { isRecord } from '@looseleaf/core/internal'
import { jsonSchemaOf, variantsOf } from './json-schema.ts'
import type { Schema } from './schema.ts'
import { unset } from './unset.ts'

/**
 * Refuses names of a patch that the schema would drop, because the change would be lost without a trace. Never refuses a name if the schema
 * does not describe itself, or keeps any name.
 */
export interface PatchNames {
  /** Throws `BAD_PROPERTY` if the schema would drop every name of the patch. */
  requireAny(patch: object, subject: string): void
  /** Throws `BAD_PROPERTY` if the schema would drop a name of the patch that the stored bag lacks. An older program may give back a stored name. */
  requireAll(patch: object, stored: object, subject: string): void
}

export function createPatchNames(schema: Schema, reserved: readonly string[]): PatchNames {
  let described: { readonly names: ReadonlySet<string> | undefined } | undefined

  const namesOf = (): ReadonlySet<string> | undefined =>
    (described ??= { names: namesBySchema(schema) }).names

  return {
    requireAny(patch, subject) {
      const names = namesOf()
      const given = givenNames(patch)
      if (names === undefined || given[0] === undefined) return
      if (!given.some((name) => names.has(name) || reserved.includes(name)))
        throw unknownName(subject, given[0], names)
    },
    requireAll(patch, stored, subject) {
      const names = namesOf()
      if (names === undefined) return
      for (const name of givenNames(patch))
        if (!names.has(name) && !Object.hasOwn(stored, name) && !reserved.includes(name))
          throw unknownName(subject, name, names)
    },
  }
}

/** Returns the names that get a value. `unset` may remove any stored name. */
function givenNames(patch: object): string[] {
  return Object.entries(patch).flatMap(([name, value]) => (value === unset ? [] : name))
}

/**
 * Returns the names of the properties that a schema gives, in all variants of a union. Undefined for a schema that does not describe
 * itself, and for one that keeps other names too, such as `z.looseObject`.
 */
function namesBySchema(schema: Schema): ReadonlySet<string> | undefined {
  const root = jsonSchemaOf(schema)
  if (root === undefined) return undefined
  const names = new Set<string>()
  for (const { properties, patternProperties, additionalProperties } of variantsOf(root, root)) {
    if (!isRecord(properties) || patternProperties !== undefined || additionalProperties !== false)
      return undefined
    for (const name of Object.keys(properties)) names.add(name)
  }
  return names.size === 0 ? undefined : names
}

function unknownName(subject: string, given: string, names: ReadonlySet<string>): LooseleafError {
  const name = given.slice(0, MAX_NAME)
  return new LooseleafError(
    'BAD_PROPERTY',
    `${subject} has no property ${JSON.stringify(name)} to change. ${suggestion(name, names)}`,
  )
}

const MAX_NAME = 60
/** Names that a message lists at most. */
const MAX_LISTED = 10

function suggestion(name: string, names: ReadonlySet<string>): string {
  const known = [...names]
  const distances = known.map((each) => distance(name.toLowerCase(), each.toLowerCase()))
  const least = Math.min(...distances)
  if (least <= Math.max(1, Math.floor(name.length / 3)))
    return `Is it ${JSON.stringify(known[distances.indexOf(least)])}?`
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : ''
  return `There are ${known.slice(0, MAX_LISTED).join(', ')}${more}.`
}

/** Returns the number of letters to insert, remove or replace that lead from one text to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++)
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === to[j] ? 0 : 1)))
    row = next
  }
  return row[to.length]!
}
