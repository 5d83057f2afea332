import type { KeyRange } from '@looseleaf/core/internal'
import { tableSpec, type QueryPlan } from '@looseleaf/index-engine/internal'
import type { Sources } from '../steps/read.ts'
import type { ReadTable } from './protected-reads.ts'

type TableOf = (shard: number) => Promise<Pick<ReadTable, 'count' | 'countMany'>>

/** Returns the tables of the first index of a call. */
export function tablesOf({ view, entries }: Sources): TableOf {
  const spec = tableSpec(entries[0]!)
  return async (shard) => view.shard(shard).index(spec)
}

/** Counts the index rows of each plan, in one call per shard. An undefined plan counts 0. */
export async function countRows(
  tableOf: TableOf,
  plans: readonly (QueryPlan | undefined)[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const counts = plans.map(() => 0)
  const byShard = new Map<number, { readonly plan: number; readonly range: KeyRange }[]>()
  for (const [plan, { ranges } = { ranges: [] }] of plans.entries()) {
    for (const { range, shards } of ranges) {
      for (const shard of shards) {
        const ranged = byShard.get(shard)
        if (ranged === undefined) byShard.set(shard, [{ plan, range }])
        else ranged.push({ plan, range })
      }
    }
  }
  await Promise.all(
    Array.from(byShard, async ([shard, ranged]) => {
      const table = await tableOf(shard)
      const ranges = ranged.map(({ range }) => range)
      const found =
        ranges.length === 1
          ? [await table.count(ranges[0]!, { signal })]
          : await table.countMany(ranges, { signal })
      for (const [i, { plan }] of ranged.entries()) counts[plan]! += found[i]!
    }),
  )
  return counts
}
