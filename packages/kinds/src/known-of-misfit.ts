import { isPlainObject } from '@looseleaf/core/internal'
import { placesOf } from './identity.ts'
import { applyPatch, unknownOf, without, type Unknown } from './keep-unknown.ts'
import { valueOf, type Properties } from './same-value.ts'
import { knownPart } from './schema-output.ts'
import { unset } from './unset.ts'

/**
 * Returns the known properties of a bag that does not fit the schema, so that the schema has no output for it. A name is unknown if the
 * schema leaves it out of the repaired bag: the one with the patch. The patch may lack names of the objects that it gives, so the schema
 * gets these names as well. `outputOf` returns undefined for a value that does not fit.
 */
export function knownOfMisfit(
  bag: Properties,
  patch: Properties,
  outputOf: (repaired: Properties) => object | undefined,
): Properties {
  const unknown: Unknown = { names: new Map() }
  const filled = Object.entries(patch).map(([name, value]) => [
    name,
    value === unset ? unset : withNamesOf(valueOf(bag, name), value),
  ])
  for (const change of [patch, Object.fromEntries(filled) as Properties]) {
    const repaired = applyPatch(bag, bag, change)
    const output = outputOf(repaired)
    if (output !== undefined) unknownOf(repaired, knownPart(repaired, output), unknown)
  }
  return without(unknown, bag) as Properties
}

/** Adds to a new value all names that the stored value has. Only for the schema to see: another object may have them. */
function withNamesOf(stored: unknown, value: unknown): unknown {
  if (isPlainObject(stored) && isPlainObject(value)) {
    const changed = Object.entries(value).map(
      ([name, property]) => [name, withNamesOf(valueOf(stored, name), property)] as const,
    )
    return Object.fromEntries([...Object.entries(stored), ...changed])
  }
  if (Array.isArray(stored) && Array.isArray(value)) {
    const places = placesOf(stored, [() => stored], value)
    return value.map((element: unknown, i) => withNamesOf(stored[places[i] ?? i], element))
  }
  return value
}
