import type { IndexDefinitionData } from '@looseleaf/core'
import type { CatalogEntry } from '@looseleaf/core/internal'
import {
  findStandIn,
  isClaimsOf,
  isInUse,
  sameRows,
  type EngineContext,
} from '@looseleaf/index-engine/internal'

/** Returns warnings about the indexes of a program that it would notice with its first query, or not at all. */
export function indexWarnings(
  context: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  return [
    ...missingClaims(context, definitions),
    ...hiddenIndexes(context, definitions),
    ...olderGenerations(context, definitions),
  ]
}

/** Warns if an index is unique in the program but not in the store, which no query would show. */
function missingClaims(
  { catalog }: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  const { indexes } = catalog.current()
  return definitions.flatMap((definition) => {
    const hasItsClaims = (entry: CatalogEntry): boolean =>
      entry.state !== 'retiring' && isClaimsOf(entry, definition)
    const state = definition.unique ? indexes.find(hasItsClaims)?.state : 'ready'
    if (state === 'ready') return []
    return state === undefined
      ? `Index ${definition.name} is unique in this program but not in the store, so entities may share its keys: add it by \`migrate: true\`, \`addIndex\` or \`looseleaf index add\`.`
      : `Index ${definition.name} is not unique yet: older entities may share its keys until the cleaner has filled its claims and found no duplicates.`
  })
}

/** Warns of hidden indexes, whose queries are rejected. */
function hiddenIndexes(
  { catalog }: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  return catalog
    .current()
    .indexes.filter((entry) => entry.hidden && !entry.unique && isInUse(entry))
    .filter((entry) => definitions.some((definition) => sameRows(entry, definition)))
    .map(
      ({ name, generation }) =>
        `Index ${name} is hidden, and queries of it are rejected: bring it back with \`looseleaf index restore ${name} --generation ${generation}\`, \`store.restoreIndex\` or \`migrate: true\`.`,
    )
}

/** Warns of indexes that an older generation serves, because pages then have the order of that generation. */
function olderGenerations(
  { catalog }: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  const { indexes } = catalog.current()
  return indexes.flatMap((entry) => {
    if (entry.state !== 'building' || entry.unique || !definitions.some((each) => sameRows(entry, each)))
      return []
    const older = findStandIn(entry, indexes)
    if (older === undefined) return []
    return `Index ${entry.name} is being filled with a changed definition: until it is ready, generation ${older.generation} answers its queries, in the order of that generation. A running cleaner fills it, or \`looseleaf clean --index ${entry.name}\`.`
  })
}
