import type { Bag, Codec, IndexDefinitionData, PropertyValue } from '@looseleaf/core'
import { propertyValue } from '../definitions/property-value.ts'
import { openIndex } from './open-index.ts'

/** Largest number of bytes that a row includes, so that rows stay within their page of the table. */
const MAX_INCLUDED_BYTES = 4096

/**
 * Returns the part of a bag that the rows of a covering index hold: the indexed properties, the properties of `on`, and the included
 * ones. The part derives the same rows as the whole bag. Each value stands under its path as one name, and a name takes precedence
 * over a path.
 */
export function includedPart(definition: IndexDefinitionData, bag: Bag): Bag {
  const part: Record<string, PropertyValue> = {}
  const { include = [], on = {} } = definition
  const paths = [...openIndex(definition).properties.map(({ path }) => path), ...include, ...Object.keys(on)]
  for (const path of paths) {
    // Every value within a bag is a PropertyValue.
    const value = propertyValue(bag, path) as PropertyValue | undefined
    if (value !== undefined) part[path] = value
  }
  return part
}

/** Encodes `includedPart`; null if it takes more than 4,096 bytes, undefined if the index does not include properties. */
export function includedBytes(
  definition: IndexDefinitionData,
  bag: Bag,
  codec: Codec,
): Uint8Array | null | undefined {
  if (definition.include === undefined) return undefined
  const bytes = codec.encode(includedPart(definition, bag))
  return bytes.length > MAX_INCLUDED_BYTES ? null : bytes
}
