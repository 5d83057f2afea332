import type { CatalogEntry, KeyRange } from '@looseleaf/core'
import { tableSpec, type QueryPlan } from '@looseleaf/index-engine'
import type { ReadView } from './replica-reads.ts'

/** Adds up what the ranges of each plan have, in one call of each shard. */
export async function countRows(
  view: ReadView,
  entry: CatalogEntry,
  plans: readonly (QueryPlan | undefined)[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const counts = plans.map(() => 0)
  const byShard = new Map<number, { readonly plan: number; readonly range: KeyRange }[]>()
  for (const [plan, { ranges } = { ranges: [] }] of plans.entries()) {
    for (const { range, shards } of ranges) {
      for (const shard of shards) {
        const own = byShard.get(shard)
        if (own === undefined) byShard.set(shard, [{ plan, range }])
        else own.push({ plan, range })
      }
    }
  }
  await Promise.all(
    Array.from(byShard, async ([shard, asked]) => {
      const table = view.shard(shard).index(tableSpec(entry))
      const ranges = asked.map(({ range }) => range)
      const found =
        ranges.length === 1
          ? [await table.count(ranges[0]!, { signal })]
          : await table.countMany(ranges, { signal })
      for (const [i, { plan }] of asked.entries()) counts[plan]! += found[i]!
    }),
  )
  return counts
}
