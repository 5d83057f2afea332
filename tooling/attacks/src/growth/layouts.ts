import type { PlannedMove } from '@looseleaf/store'
import { formatRanges, parseRanges } from '@looseleaf/core/internal'

/** Returns the moves after which these shards have all buckets, evenly. `owned` are the buckets of each shard, as ranges. */
export function plansFor(owned: readonly string[], shards: readonly number[]): readonly PlannedMove[] {
  const lists = owned.map((text) =>
    (parseRanges(text) ?? []).flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, i) => first + i),
    ),
  )
  const all = lists.reduce((sum, list) => sum + list.length, 0)
  const share = (shard: number): number => {
    const at = shards.indexOf(shard)
    return at < 0 ? 0 : Math.floor(all / shards.length) + (at < all % shards.length ? 1 : 0)
  }
  const surplus = lists.map((list, shard) => list.slice(Math.min(share(shard), list.length)))
  const plans: PlannedMove[] = []
  for (const to of shards) {
    let lacking = share(to) - (lists[to]?.length ?? 0)
    for (const [from, list] of surplus.entries()) {
      if (lacking <= 0) break
      const taken = list.splice(0, lacking)
      lacking -= taken.length
      if (taken.length > 0)
        plans.push({ from, to, buckets: formatRanges(taken.map((bucket) => [bucket, bucket])) })
    }
  }
  return plans
}
