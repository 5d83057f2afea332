import { isLooseleafError, LooseleafError, type Router } from '@looseleaf/core'
import {
  isStandIn,
  planByStandIn,
  planQuery,
  type QueryOptions,
  type QueryPlan,
  type ServingEntry,
} from '@looseleaf/index-engine'
import { notReady } from './ready-indexes.ts'

/** Plans a query on the generation that serves it. Throws `BAD_QUERY`; `INDEX_NOT_READY` if that is one that cannot serve this `where`. */
export function planOn(
  router: Router,
  entry: ServingEntry,
  where: unknown,
  options: QueryOptions,
): QueryPlan {
  if (!isStandIn(entry)) return planQuery(entry, where, options, router)
  const plan = planByStandIn(entry, where, options, router)
  if (plan === undefined) throw notReady(entry.standsFor)
  return plan
}

/** As `planOn`, of many conditions; an error names the number of its condition. */
export function planManyOn(
  router: Router,
  entry: ServingEntry,
  wheres: readonly object[],
  options: QueryOptions,
): QueryPlan[] {
  return wheres.map((where, i) => {
    try {
      return planOn(router, entry, where, options)
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      throw new LooseleafError(error.code, `Condition ${i} (counted from 0): ${error.message}`, {
        cause: error,
      })
    }
  })
}
