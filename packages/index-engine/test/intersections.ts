import type { Bag } from '@looseleaf/core'
import type { IndexDefinition } from '../src/definitions/define-index.ts'
import { planIntersection, type IntersectionPlan } from '../src/pages/plan-intersection.ts'
import type { QueryOptions } from '../src/pages/query-types.ts'
import type { QueryPorts } from '../src/pages/run-query.ts'
import { idOf, lastBytePlacement, modelStore } from './model.ts'

/** A condition of a test. */
export interface TestCondition {
  readonly index: IndexDefinition
  readonly where: object
}

/** A store with an index per condition. */
export interface SeveralIndexes extends QueryPorts {
  commit(number: number, bag: Bag | undefined): void
  /** Adds the rows of a bag to all indexes, or to some. */
  addRows(number: number, bag: Bag, indexes?: readonly number[]): void
  removeRows(number: number, bag: Bag): void
  /** Called before each scan. */
  onScan: () => void
}

export function severalIndexes(given: readonly TestCondition[], shards: number): SeveralIndexes {
  const stores = given.map(({ index }) => modelStore(index, lastBytePlacement(shards)))
  const first = stores[0]!
  const several: SeveralIndexes = {
    onScan: () => {},
    commit: (number, bag) => first.commit(idOf(number), bag),
    addRows(number, bag, indexes = stores.keys().toArray()) {
      for (const index of indexes) stores[index]!.addRows(idOf(number), bag)
    },
    removeRows(number, bag) {
      for (const store of stores) store.removeRows(idOf(number), bag)
    },
    scan(shard, scan, signal, index) {
      several.onScan()
      return stores[index]!.scan(shard, scan, signal, index)
    },
    read: first.read,
  }
  return several
}

export function planOf(
  given: readonly TestCondition[],
  options: QueryOptions = {},
  shards = 1,
): IntersectionPlan {
  const conditions = given.map(({ index, where }) => ({ index: { ...index, generation: 1 }, where }))
  return planIntersection(conditions, { scatter: true, ...options }, lastBytePlacement(shards))
}
