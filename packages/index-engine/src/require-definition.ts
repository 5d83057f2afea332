import { describeKind, isRecord, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'

/** Throws `BAD_INDEX` for what is no definition at all. Whether the store has such an index is another question. */
export function requireDefinition(
  call: string,
  definition: unknown,
): asserts definition is IndexDefinitionData {
  if (isLikeDefinition(definition)) return
  throw new LooseleafError(
    'BAD_INDEX',
    `${call} takes an index as defineIndex gives it; got ${describeNoDefinition(definition)}.`,
  )
}

function isLikeDefinition(value: unknown): boolean {
  const { name, properties, include = [], on = {} } = isRecord(value) ? value : {}
  const hasLists = Array.isArray(properties) && properties.every(isRecord) && Array.isArray(include)
  return typeof name === 'string' && hasLists && isRecord(on)
}

/** Whether it has definitions and is none: what `defineKind` gives. */
export function isLikeKind(value: unknown): boolean {
  return isRecord(value) && Array.isArray(value['indexes']) && value['properties'] === undefined
}

/** What came in place of a definition, and where the definition is, if it has one. */
function describeNoDefinition(value: unknown): string {
  if (isLikeKind(value)) return 'a kind, whose collection has its indexes, each with its `definition`'
  if (isRecord(value) && isLikeDefinition(value['definition']))
    return 'an index of a kind, whose `definition` it is'
  return describeKind(value)
}
