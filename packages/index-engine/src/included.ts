import type { Bag, Codec, IndexDefinitionData, PropertyValue } from '@looseleaf/core'
import { openIndex } from './open-index.ts'
import { propertyValue } from './property-value.ts'

/** Bytes of what a row holds beside its key, at the most: rows are to be small, and stay in their page. */
export const MAX_INCLUDED_BYTES = 4096

/**
 * The part of a bag that rows of a covering index hold: what its properties and `on` are of, so that the part has the same rows
 * as the whole, and what is included. Each stands under its path as one name, which comes before what the path leads to.
 */
export function includedPart(definition: IndexDefinitionData, bag: Bag): Bag {
  const part: Record<string, PropertyValue> = {}
  const { include = [], on = {} } = definition
  const paths = [...openIndex(definition).properties.map(({ path }) => path), ...include, ...Object.keys(on)]
  for (const path of paths) {
    // It comes from a bag, so that it can be stored again.
    const value = propertyValue(bag, path) as PropertyValue | undefined
    if (value !== undefined) part[path] = value
  }
  return part
}

/** The same as bytes; null where they are too many, undefined for an index whose rows are keys alone. */
export function includedBytes(
  definition: IndexDefinitionData,
  bag: Bag,
  codec: Codec,
): Uint8Array | null | undefined {
  if (definition.include === undefined) return undefined
  const bytes = codec.encode(includedPart(definition, bag))
  return bytes.length > MAX_INCLUDED_BYTES ? null : bytes
}
