import type { KeyRange } from '@looseleaf/core/internal'
import { tableSpec, type QueryPlan } from '@looseleaf/index-engine/internal'
import { askOrLeaveOut, type MissingShards } from '../entities/missing-shards.ts'
import type { ReadView } from '../freshness/replica-reads.ts'
import type { Sources } from '../steps/read.ts'
import type { ReadTable } from './protected-reads.ts'

export interface CountedOn {
  readonly signal: AbortSignal | undefined
  readonly view: Pick<ReadView, 'lanes'>
  readonly missing: readonly MissingShards[] | undefined
}

type TableOf = (shard: number) => Promise<Pick<ReadTable, 'count' | 'countMany'>>

/** Returns the tables of the first index of a call. */
export function tablesOf({ view, entries }: Sources): TableOf {
  const spec = tableSpec(entries[0]!)
  return async (shard) => view.shard(shard).index(spec)
}

/**
 * Counts the index rows of each plan, in one call per shard. An undefined plan counts 0. With `missing`, one for each plan, leaves out the
 * shards that do not answer.
 */
export async function countRows(
  tableOf: TableOf,
  plans: readonly (QueryPlan | undefined)[],
  { signal, view, missing }: CountedOn,
): Promise<number[]> {
  const counts = plans.map(() => 0)
  const scans = plans.flatMap((planned, plan) =>
    (planned?.ranges ?? []).flatMap(({ range, shards }) => shards.map((shard) => ({ plan, range, shard }))),
  )
  const byShard = Map.groupBy(scans, ({ shard }) => shard)
  await Promise.all(
    Array.from(byShard, async ([shard, ranged]) => {
      const found = await countOn(
        shard,
        ranged.map(({ range }) => range),
        ranged.map(({ plan }) => plan),
      )
      for (const [i, { plan }] of ranged.entries()) counts[plan]! += found[i]!
    }),
  )
  return counts

  async function ask(shard: number, ranges: readonly KeyRange[]): Promise<readonly number[]> {
    const table = await tableOf(shard)
    return ranges.length === 1
      ? [await table.count(ranges[0]!, { signal })]
      : table.countMany(ranges, { signal })
  }

  function countOn(
    shard: number,
    ranges: readonly KeyRange[],
    of: readonly number[],
  ): Promise<readonly number[]> {
    const count = (): Promise<readonly number[]> => ask(shard, ranges)
    if (missing === undefined) return count()
    const nothing = ranges.map(() => 0)
    return askOrLeaveOut(
      view.lanes(shard),
      of.map((plan) => missing[plan]!),
      count,
      nothing,
    )
  }
}

/**
 * Counts the index rows of a plan with one range, in statements that calls share. Resolves with undefined if the range is not short on each
 * shard. With `missing`, leaves out the shards that do not answer.
 */
export async function countShortRange(
  { view, entries }: Sources,
  { ranges }: QueryPlan,
  missing: MissingShards | undefined,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const { range, shards } = ranges[0]!
  const spec = tableSpec(entries[0]!)

  function countOn(shard: number): Promise<number | undefined> {
    const lanes = view.lanes(shard)
    const ask = (): Promise<number | undefined> => lanes.index(spec).countShort.submit(range, signal)
    return missing === undefined ? ask() : askOrLeaveOut(lanes, [missing], ask, 0)
  }

  let total = 0
  for (const count of await Promise.all(shards.map(countOn))) {
    if (count === undefined) return undefined
    total += count
  }
  return total
}
