import { tunedCheckIndex } from '@looseleaf/cleaner/internal'
import type { DataStore } from '@looseleaf/store'

/** Result of the cleaner's check of several indexes, added up. */
export interface IndexesCheck {
  /** Missing rows, including unsettled ones. */
  readonly missing: number
  /** Dangling rows, including misplaced ones. */
  readonly dangling: number
  readonly unclaimed: number
  readonly entities: number
  readonly rows: number
}

/** Checks the indexes. Valid only while nothing writes. */
export async function checkIndexes(
  store: DataStore,
  indexes: readonly { readonly name: string }[],
): Promise<IndexesCheck> {
  const sum = { missing: 0, dangling: 0, unclaimed: 0, entities: 0, rows: 0 }
  for (const { name } of indexes) {
    const found = await tunedCheckIndex(store, name, { settleMs: 0 })
    sum.missing += found.missing + found.unsettled
    sum.dangling += found.dangling + found.misplaced
    sum.unclaimed += found.unclaimed
    sum.entities = found.entities
    sum.rows += found.rows
  }
  return sum
}
