import type { Bag, Entity } from '@looseleaf/core'
import { KIND_PROPERTY } from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import { createMatcher } from '@looseleaf/index-engine/internal'
import type { OnWarning } from './fill-warning.ts'
import { copied } from './same-value.ts'
import { readItem, type Item, type Shape } from './shape.ts'

/** Depth of a `where`: its conditions, and their lists. The store refuses a deeper one. */
const WHERE_DEPTH = 3

export type ItemReader = (entities: readonly Entity[]) => Item<object>[]

/**
 * Returns a function that takes the `where` of a query of an index, before the query begins, and returns the reader of its items. The store
 * matches stored bags. An upgrade, a default or `checkReads` may give an item another value, so items that `where` does not match are left
 * out. An item that is as it is stored is not checked again.
 */
export function createItemReader(
  shape: Shape,
  definition: IndexDefinition,
  onWarning: OnWarning,
): (where: unknown) => ItemReader {
  return (givenWhere) => {
    // The caller may change the object for its next query while this one runs.
    const where = copied(givenWhere, WHERE_DEPTH)
    return (entities) => itemsOf(entities, where)
  }

  function itemsOf(entities: readonly Entity[], where: unknown): Item<object>[] {
    const items: Item<object>[] = []
    let derivedItems = 0
    const onDerived = (): void => {
      derivedItems++
    }
    let matches: ((bag: Bag) => boolean) | undefined
    for (const entity of entities) {
      const derivedBefore = derivedItems
      const item = readItem(shape, entity, onWarning, onDerived)
      if (derivedItems > derivedBefore) {
        matches ??= createMatcher(definition, where)
        if (!matches({ ...item, [KIND_PROPERTY]: shape.name })) continue
      }
      items.push(item)
    }
    return items
  }
}
