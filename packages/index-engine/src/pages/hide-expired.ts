import type { Bag } from '@looseleaf/core'
import { isDate } from '@looseleaf/core/internal'
import { propertyValue } from '../definitions/property-value.ts'
import type { QueryPlan } from './plan-query.ts'
import type { PagePlan } from './row-source.ts'

/** Returns the time at which an entity expires, in milliseconds since 1970. An entity without a Date under the path never expires: `Infinity`. */
export function expiryOf(bag: Bag, expires: string): number {
  const time = propertyValue(bag, expires)
  return isDate(time) ? time.getTime() : Infinity
}

/** Tells whether an entity has expired by `now`, in milliseconds since 1970. */
export function isExpired(bag: Bag, expires: string | undefined, now: number): boolean {
  return expires !== undefined && expiryOf(bag, expires) <= now
}

/** Returns a plan that leaves out entities which have expired by `now`, in milliseconds since 1970. */
export function hideExpired(plan: QueryPlan, expires: string | undefined, now: number): QueryPlan {
  if (expires === undefined) return plan
  const { firstKey } = hideExpiredOfAny(plan, [expires], now)
  return {
    ...plan,
    // A row does not hold the time of `expires`.
    rowsTellPlaces: false,
    rowsTellAnswers: false,
    firstKey,
    matches: (bag) => firstKey(bag) !== undefined,
  }
}

/** Hides expired entities like `hideExpired`, in a plan for several indexes. */
export function hideExpiredOfAny<Plan extends PagePlan>(
  plan: Plan,
  paths: readonly (string | undefined)[],
  now: number,
): Plan {
  if (paths.every((path) => path === undefined)) return plan
  return {
    ...plan,
    firstKey: (bag: Bag) =>
      paths.some((path) => isExpired(bag, path, now)) ? undefined : plan.firstKey(bag),
  }
}
