import type { CatalogEntry, IndexDefinitionData } from '@looseleaf/core'
import { findStandIn, isClaimsOf, isInUse, sameRows, type EngineContext } from '@looseleaf/index-engine'

/** Says of the indexes of a program what it would find out with its first query, or never. */
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

/** Queries do not show that an index is not unique although this program takes it for that. */
function missingClaims(
  { catalog }: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  const { indexes } = catalog.current()
  return definitions.flatMap((definition) => {
    const isOwn = (entry: CatalogEntry): boolean =>
      entry.state !== 'retiring' && isClaimsOf(entry, definition)
    const state = definition.unique ? indexes.find(isOwn)?.state : 'ready'
    if (state === 'ready') return []
    return state === undefined
      ? `Index ${definition.name} is unique in this program, and not in the store, where entities may share its keys: add it, by \`migrate: true\`, \`addIndex\` or \`looseleaf index add\`.`
      : `Index ${definition.name} is not unique yet: entities that were there before may share its keys until the cleaner has filled its claims and found no duplicates.`
  })
}

/** The program would meet these with its first query only. */
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
        `Index ${name} is hidden, and queries of it are refused: bring it back with \`looseleaf index restore ${name} --generation ${generation}\`, \`store.restoreIndex\` or \`migrate: true\`.`,
    )
}

/** The order of its pages is another one for as long as this lasts. */
function olderGenerations(
  { catalog }: EngineContext,
  definitions: readonly IndexDefinitionData[],
): readonly string[] {
  const { indexes } = catalog.current()
  return indexes.flatMap((entry) => {
    if (entry.state !== 'building' || entry.unique || !definitions.some((one) => sameRows(entry, one)))
      return []
    const older = findStandIn(entry, indexes)
    if (older === undefined) return []
    return `Index ${entry.name} is being filled with a changed definition: until it is ready, generation ${older.generation} answers its queries, in the order of that generation. A running cleaner fills it, or \`looseleaf clean --index ${entry.name}\`.`
  })
}
