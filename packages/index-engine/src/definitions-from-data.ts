import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { definitionFromData, sameRows, type IndexDefinition } from './define-index.ts'

/**
 * Definitions that are given together. Throws `BAD_INDEX`, also for two that share a table and differ in what is refused: nothing says
 * which of them goes. Those of one name with other rows are generations of it, each with a table of its own.
 */
export function definitionsFromData(data: readonly IndexDefinitionData[]): IndexDefinition[] {
  const definitions = data.map((one) => definitionFromData(one))
  for (const [i, definition] of definitions.entries()) {
    const other = definitions.slice(0, i).find((one) => sameRows(one, definition))
    if (other === undefined) continue
    const differing = (['unique', 'onMisfit'] as const).find((option) => other[option] !== definition[option])
    if (differing === undefined) continue
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${definition.name} is given twice, with the same rows and with another ${differing}; give it once.`,
    )
  }
  return definitions
}
