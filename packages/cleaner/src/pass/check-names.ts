import { badArgument, isRecord } from '@looseleaf/core/internal'
import type { IndexName } from './index-target.ts'

/** Throws `BAD_OPTION` unless the value is an `IndexName`, an array of them, or undefined. */
export function checkNames(call: string, names: unknown): void {
  if (names === undefined || isName(names)) return
  if (Array.isArray(names)) for (const name of names) checkName(call, name)
  else throw badName(call, 'the name of an index, an array of names, or undefined for all indexes', names)
}

/** Throws `BAD_OPTION` unless the value is an `IndexName`. */
export function checkName(call: string, name: unknown): void {
  if (!isName(name)) throw badName(call, 'the name of an index', name)
}

/** Tells whether a value is a name or `{ name, generation }`. A definition is neither. */
function isName(value: unknown): value is IndexName {
  if (!isRecord(value)) return typeof value === 'string'
  return typeof value['name'] === 'string' && Number.isSafeInteger(value['generation'])
}

function badName(call: string, expected: string, value: unknown): Error {
  const isDefinition = isRecord(value) && 'properties' in value && typeof value['name'] === 'string'
  return badArgument(call, isDefinition ? `${expected}, which is the definition’s .name` : expected, value)
}
