import type { Entity } from '@looseleaf/core'
import { badOption, badArgument, checkOptions, isRecord, type OptionKinds } from '@looseleaf/core/internal'
import type { IndexDefinition, QueryOptions } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { optionsOf } from '@looseleaf/store/internal'
import type { Page } from './collection.ts'
import { createItemReader, WHERE_DEPTH } from './matching-items.ts'
import { copied } from './same-value.ts'
import type { Shape } from './shape.ts'

/** A condition on an index of a kind, for `intersect`. `condition` of the index makes it. `T` is the type of the kind's entities. */
export interface Condition<out T> {
  readonly index: IndexDefinition
  readonly where: object
  /** True if the condition asks all shards. */
  readonly scatter: boolean
  /** Never set. Keeps the compiler from mixing conditions of several kinds. */
  readonly of?: T
}

export interface ConditionOptions {
  /** Default: false. True for a `where` without a value of `shardOn`. */
  readonly scatter?: boolean | undefined
}

/** Options of `intersect`. Each condition has its own `scatter`. */
export type IntersectOptions = Omit<QueryOptions, 'scatter'>

const { scatter, ...INTERSECT } = optionsOf.query
const CONDITION: OptionKinds<ConditionOptions> = { scatter }

/** Makes a condition for `intersect`. Copies `where`, which the intersection checks. */
export function conditionOn(
  index: IndexDefinition,
  where: unknown,
  options: ConditionOptions = {},
): Condition<never> {
  checkOptions('condition', options, CONDITION)
  return Object.freeze({
    index,
    where: copied(where, WHERE_DEPTH) as object,
    scatter: options.scatter ?? false,
  })
}

/** Creates the call `intersect` of a collection. Untyped: `Entities` adds the types. */
export function createIntersect(
  store: DataStore,
  shape: Shape,
  indexes: readonly IndexDefinition[],
): (conditions: readonly Condition<unknown>[], options?: IntersectOptions) => Promise<Page<object>> {
  const readerFor = createItemReader(shape, store.context.onWarning)
  return async (given, options = {}) => {
    checkOptions('intersect', options, INTERSECT)
    const conditions = takeConditions(shape.name, indexes, given)
    const itemsOf = readerFor(conditions)
    const found = await store.intersect(
      conditions.map(({ index, where }) => ({ index, where })),
      conditions.some((condition) => condition.scatter) ? { ...options, scatter: true } : options,
    )
    return { ...found, items: itemsOf(found.items as readonly Entity[]) }
  }
}

/** Copies the list. Throws `BAD_OPTION` for a condition that no index of the kind made. */
function takeConditions(
  kind: string,
  indexes: readonly IndexDefinition[],
  given: unknown,
): readonly Condition<unknown>[] {
  if (!Array.isArray(given)) throw badArgument('intersect', 'an array of conditions', given)
  return Array.from(given as unknown[], (condition) => {
    if (isRecord(condition) && indexes.includes(condition['index'] as IndexDefinition))
      return condition as unknown as Condition<unknown>
    throw badOption(`intersect of ${kind} takes conditions that \`condition\` of its own indexes has made.`)
  })
}
