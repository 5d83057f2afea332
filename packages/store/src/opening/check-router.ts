import type { Router } from '@looseleaf/core'
import { badOption, requireKind, wholeNumber } from '@looseleaf/core/internal'
import { bucketsOf } from '@looseleaf/index-engine/internal'
import { countText } from './check-shard.ts'

/** Keys and ids by which a router is compared with its buckets. */
const SAMPLES = 256

/** Throws `BAD_OPTION` for a router of another number of shards than a new store, or than a store whose layout is fixed. */
export function checkShardCount({ shardCount: routed }: Router, count: number): void {
  if (routed === count) return
  throw badOption(
    `The router routes to ${countText(routed)}, but the store has ${count}. Give a router for ${countText(count)}.`,
  )
}

/**
 * Throws `BAD_OPTION` for a router with a bucket on none of its shards, and for one that claims by its fingerprint to go by its buckets
 * alone and does not: the layout of its store would have its buckets, so stored data would be looked for on other shards. The number of
 * its shards may differ from the store's, whose layout has the buckets.
 */
export function checkRouter(router: Router): void {
  const { shardCount } = router
  const buckets = bucketsOf(router)
  if (buckets === undefined) return
  const place = { ...wholeNumber(0, shardCount - 1), expected: `on a shard from 0 to ${shardCount - 1}` }
  // The text is made for a wrong bucket alone, because a router has thousands.
  const wrong = buckets.shards.findIndex((shard) => !place.fits(shard))
  if (wrong !== -1) requireKind(`Bucket ${wrong} of the router`, buckets.shards[wrong], place)
  for (let i = 0; i < SAMPLES; i++) {
    const id = Buffer.alloc(16, i)
    const key = Buffer.from([i])
    const isTrue =
      router.shardOfId(id) === buckets.shards[buckets.ofId(id)] &&
      router.shardOfKey(key) === buckets.shards[buckets.ofKey(key)]
    if (isTrue) continue
    throw badOption(
      `The router assigns ids or keys to other shards than its buckets do, but its fingerprint begins with their scheme, ${buckets.scheme}. Give it a fingerprint of its own, or no buckets.`,
    )
  }
}
