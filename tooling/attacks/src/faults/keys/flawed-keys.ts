import type { Driver } from '@looseleaf/core'
import type { ClaimTable, IndexTable } from '@looseleaf/core/internal'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import { withoutFences } from '@looseleaf-tooling/simulation'

/** A guard of unique indexes that can be turned off, to test the checker. */
export type KeyFlaw = 'swap compares nothing' | 'no fence before a take-over'

export const keyFlaws: readonly KeyFlaw[] = ['swap compares nothing', 'no fence before a take-over']

/** Returns the driver with one guard turned off, to test the checker. */
export function withKeyFlaw(driver: Driver, flaw: KeyFlaw | undefined): Driver {
  if (flaw === undefined) return driver
  if (flaw === 'no fence before a take-over') return withoutFences(driver)
  return changed(driver, {
    shard: (shard) => ({ claims: (spec) => carelessSwap(shard.claims(spec), shard.index(spec)) }),
  })
}

/** Gives the key away regardless of its current holder. */
function carelessSwap(claims: ClaimTable, table: IndexTable): ClaimTable {
  return {
    take: (rows, options) => claims.take(rows, options),
    async swap(claim, to, options) {
      const [now] = await table.scan({ prefix: claim.key, order: 'asc', limit: 1 }, options)
      return now !== undefined && claims.swap(now, to, options)
    },
  }
}
