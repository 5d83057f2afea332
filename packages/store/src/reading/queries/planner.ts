import { isLooseleafError, LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import type { QueryOptions } from '@looseleaf/index-engine'
import {
  hideExpired,
  hideExpiredOfAny,
  isStandIn,
  planByStandIn,
  planIntersection,
  planQuery,
  type EngineContext,
  type IntersectionPlan,
  type QueryPlan,
} from '@looseleaf/index-engine/internal'
import { notReady } from '../../catalog/ready-indexes.ts'
import type { Sources } from '../steps/read.ts'

export interface Condition {
  readonly index: IndexDefinitionData
  readonly where: object
}

/** Plans queries on the generations among the sources, and hides entities that have expired by now. Throws `BAD_QUERY`. */
export interface Planner {
  /** Throws `INDEX_NOT_READY` if the entry is a stand-in that cannot serve this `where`. */
  one(sources: Sources, index: IndexDefinitionData, where: object, options: QueryOptions): QueryPlan
  /** Plans many conditions of one index. An error names the number of its condition. */
  many(
    sources: Sources,
    index: IndexDefinitionData,
    wheres: readonly object[],
    options: QueryOptions,
  ): QueryPlan[]
  intersection(sources: Sources, conditions: readonly Condition[], options: QueryOptions): IntersectionPlan
}

export function createPlanner({ catalog, time }: Pick<EngineContext, 'catalog' | 'time'>): Planner {
  function planAt(
    now: number,
    { entries }: Sources,
    { expires }: IndexDefinitionData,
    where: object,
    options: QueryOptions,
  ): QueryPlan {
    const entry = entries[0]!
    const plan = isStandIn(entry)
      ? planByStandIn(entry, where, options, catalog.current().placement)
      : planQuery(entry, where, options, catalog.current().placement)
    if (plan === undefined) throw notReady(entry.standsFor ?? entry)
    return hideExpired(plan, expires, now)
  }

  return {
    one: (sources, index, where, options) => planAt(time.now(), sources, index, where, options),
    many(sources, index, wheres, options) {
      const now = time.now()
      return wheres.map((where, i) => {
        try {
          return planAt(now, sources, index, where, options)
        } catch (error) {
          if (!isLooseleafError(error)) throw error
          throw new LooseleafError(error.code, `Condition ${i} (counted from 0): ${error.message}`, {
            cause: error,
          })
        }
      })
    },
    intersection({ entries }, conditions, options) {
      const planned = conditions.map(({ where }, i) => ({ index: entries[i]!, where }))
      const plan = planIntersection(planned, options, catalog.current().placement)
      const expires = conditions.map(({ index }) => index.expires)
      return hideExpiredOfAny(plan, expires, time.now())
    },
  }
}
