import type { Bag, IndexDefinitionData } from '@looseleaf/core'
import { matchingKey } from './matching-key.ts'
import { parseWhere } from './parse-where.ts'

/**
 * Returns a function that tells whether a bag has a row in an index that satisfies `where`, by whole strings. Throws `BAD_QUERY` for a
 * `where` that the index cannot serve.
 */
export function createMatcher(definition: IndexDefinitionData, where: unknown): (bag: Bag) => boolean {
  const firstKey = matchingKey(definition, parseWhere(definition, where), 'asc')
  return (bag) => firstKey(bag) !== undefined
}
