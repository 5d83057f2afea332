import type { Bag, Entity } from '@looseleaf/core'
import { KIND_PROPERTY } from '@looseleaf/core/internal'
import type { IndexDefinition } from '@looseleaf/index-engine'
import { createMatcher } from '@looseleaf/index-engine/internal'
import type { OnWarning } from './fill-warning.ts'
import { copied } from './same-value.ts'
import { readItem, type Item, type Shape } from './shape.ts'

/** Depth of a `where`: its conditions, and their lists. The store refuses a deeper one. */
export const WHERE_DEPTH = 3

export type ItemReader = (entities: readonly Entity[]) => Item<object>[]

/** The `where` of a query, or of one condition of an intersection. */
interface IndexWhere {
  readonly index: IndexDefinition
  readonly where: unknown
}

/**
 * Returns a function that takes the conditions of a query, before the query begins, and returns the reader of its items. The store
 * matches stored bags. An upgrade, a default or `checkReads` may give an item another value, so items that a condition does not match are
 * left out. An item that is as it is stored is not checked again.
 */
export function createItemReader(
  shape: Shape,
  onWarning: OnWarning,
): (conditions: readonly IndexWhere[]) => ItemReader {
  return (given) => {
    // The caller may change the objects for its next query while this one runs.
    const conditions = given.map(({ index, where }) => ({ index, where: copied(where, WHERE_DEPTH) }))
    return (entities) => itemsOf(entities, conditions)
  }

  function itemsOf(entities: readonly Entity[], conditions: readonly IndexWhere[]): Item<object>[] {
    const items: Item<object>[] = []
    let derivedItems = 0
    const onDerived = (): void => {
      derivedItems++
    }
    let matchers: readonly ((bag: Bag) => boolean)[] | undefined
    for (const entity of entities) {
      const derivedBefore = derivedItems
      const item = readItem(shape, entity, onWarning, onDerived)
      if (derivedItems > derivedBefore) {
        matchers ??= conditions.map(({ index, where }) => createMatcher(index, where))
        const bag = { ...item, [KIND_PROPERTY]: shape.name }
        if (!matchers.every((matches) => matches(bag))) continue
      }
      items.push(item)
    }
    return items
  }
}
