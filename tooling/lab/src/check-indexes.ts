import { checkIndex } from '@looseleaf/cleaner'
import type { DataStore } from '@looseleaf/store'

/** What the cleaner says of some indexes together. */
export interface IndexesCheck {
  /** What is unsettled counts as missing. */
  readonly missing: number
  /** What is misplaced counts as dangling. */
  readonly dangling: number
  readonly unclaimed: number
  readonly entities: number
  readonly rows: number
}

/** Only means something while nobody writes. */
export async function checkIndexes(
  store: DataStore,
  indexes: readonly { readonly name: string }[],
): Promise<IndexesCheck> {
  const sum = { missing: 0, dangling: 0, unclaimed: 0, entities: 0, rows: 0 }
  for (const { name } of indexes) {
    const found = await checkIndex(store, name, { settleMs: 0 })
    sum.missing += found.missing + found.unsettled
    sum.dangling += found.dangling + found.misplaced
    sum.unclaimed += found.unclaimed
    sum.entities = found.entities
    sum.rows += found.rows
  }
  return sum
}
