import { describeKind, isRecord, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'

/** Throws `BAD_INDEX` for what is no definition at all. Whether the store has such an index is another question. */
export function requireDefinition(
  call: string,
  definition: unknown,
): asserts definition is IndexDefinitionData {
  const { name, properties, include = [], on = {} } = isRecord(definition) ? definition : {}
  const hasLists = Array.isArray(properties) && properties.every(isRecord) && Array.isArray(include)
  if (typeof name === 'string' && hasLists && isRecord(on)) return
  throw new LooseleafError(
    'BAD_INDEX',
    `${call} takes an index as defineIndex gives it; got ${describeKind(definition)}.`,
  )
}
