import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { definitionFromData, type IndexDefinition } from './define-index.ts'
import { sameRows } from './catalog-entries.ts'

/**
 * Makes definitions that a program gives together. Definitions of one name with different rows are generations, each with a table of its
 * own. Throws `BAD_INDEX` for an invalid definition, and for two that share a table but differ in `unique` or `onMisfit`: they would
 * contradict each other.
 */
export function definitionsFromData(data: readonly IndexDefinitionData[]): IndexDefinition[] {
  const definitions = data.map((each) => definitionFromData(each))
  for (const [i, definition] of definitions.entries()) {
    const other = definitions.slice(0, i).find((earlier) => sameRows(earlier, definition))
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
