import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { describeKind, isRecord } from '@looseleaf/core/internal'

/** Throws `BAD_INDEX` unless a value is a definition. Does not tell whether the store has the index. */
export function requireDefinition(
  call: string,
  definition: unknown,
  expected = 'an index as defineIndex gives it',
): asserts definition is IndexDefinitionData {
  if (isLikeDefinition(definition)) return
  throw new LooseleafError('BAD_INDEX', `${call} takes ${expected}; got ${describeNoDefinition(definition)}.`)
}

function isLikeDefinition(value: unknown): boolean {
  const { name, properties, include = [], on = {} } = isRecord(value) ? value : {}
  const hasLists = Array.isArray(properties) && properties.every(isRecord) && Array.isArray(include)
  return typeof name === 'string' && hasLists && isRecord(on)
}

/** Tells whether a value looks like a kind, which has indexes but is no definition. */
export function isLikeKind(value: unknown): boolean {
  return isRecord(value) && Array.isArray(value['indexes']) && value['properties'] === undefined
}

/** Describes a value that is no definition, and how to get the definition from it. */
function describeNoDefinition(value: unknown): string {
  if (isLikeKind(value)) return 'a kind, whose collection has its indexes, each with its `definition`'
  if (isRecord(value) && isLikeDefinition(value['definition']))
    return 'an index of a kind, whose `definition` it is'
  return describeKind(value)
}
