import { type Bag, type Entity } from '@looseleaf/core'
import { KIND_PROPERTY } from '@looseleaf/core/internal'
import { type IndexDefinition } from '@looseleaf/index-engine'
import { createMatcher } from '@looseleaf/index-engine/internal'
import { readItem, type Item, type Shape } from './shape.ts'

/**
 * Returns a function that makes the items of entities which a query of an index has returned. The store matches stored bags. An upgrade, a
 * default or `checkReads` may give an item another value, so items that `where` does not match are left out. An item that is as it is
 * stored is not checked again.
 */
export function createItemReader(
  shape: Shape,
  definition: IndexDefinition,
): (entities: readonly Entity[], where: unknown) => Item<object>[] {
  return (entities, where) => {
    const items: Item<object>[] = []
    let derivedItems = 0
    const onDerived = (): void => {
      derivedItems++
    }
    let matches: ((bag: Bag) => boolean) | undefined
    for (const entity of entities) {
      const derivedBefore = derivedItems
      const item = readItem(shape, entity, onDerived)
      if (derivedItems > derivedBefore) {
        matches ??= createMatcher(definition, where)
        if (!matches({ ...item, [KIND_PROPERTY]: shape.name })) continue
      }
      items.push(item)
    }
    return items
  }
}
