import { isLooseleafError, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { planQuery, type QueryOptions } from '@looseleaf/index-engine'
import {
  hideExpired,
  isStandIn,
  planByStandIn,
  type Placement,
  type QueryPlan,
  type ServingEntry,
} from '@looseleaf/index-engine/internal'
import { notReady } from './ready-indexes.ts'

/** The definition that a query names, and the time of the query in milliseconds since 1970, at which entities may have expired. */
export interface QueriedIndex {
  readonly definition: IndexDefinitionData
  readonly now: number
}

/** Plans a query on the generation that serves it. Throws `BAD_QUERY`, and `INDEX_NOT_READY` if a stand-in cannot serve this `where`. */
export function planOn(
  placement: Placement,
  entry: ServingEntry,
  where: unknown,
  options: QueryOptions,
  { definition, now }: QueriedIndex,
): QueryPlan {
  const plan = isStandIn(entry)
    ? planByStandIn(entry, where, options, placement)
    : planQuery(entry, where, options, placement)
  if (plan === undefined) throw notReady(entry.standsFor ?? entry)
  return hideExpired(plan, definition.expires, now)
}

/** Does `planOn` for many conditions. An error names the number of its condition. */
export function planManyOn(
  placement: Placement,
  entry: ServingEntry,
  wheres: readonly object[],
  options: QueryOptions,
  queried: QueriedIndex,
): QueryPlan[] {
  return wheres.map((where, i) => {
    try {
      return planOn(placement, entry, where, options, queried)
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      throw new LooseleafError(error.code, `Condition ${i} (counted from 0): ${error.message}`, {
        cause: error,
      })
    }
  })
}
