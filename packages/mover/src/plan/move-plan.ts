import type { Inlined } from '@looseleaf/core/internal'
import type { PlannedMove } from '@looseleaf/protocol/internal'
import type { BucketSize } from './bucket-sizes.ts'

/**
 * A wish for moves: some buckets from one shard to another; all buckets of a shard to the others (`drain`); or equal bytes on all shards
 * (`'rebalance'`).
 */
export type MoveRequest = PlannedMove | { readonly drain: number } | 'rebalance'

/** A move of a plan, with exact counts of the rows that go along. */
export type CountedMove = Inlined<
  PlannedMove &
    BucketSize & {
      readonly bucketCount: number
    }
>

/** The moves that fulfil a request, and everything that speaks against them. */
export interface MovePlan {
  readonly moves: readonly CountedMove[]
  /** All reasons for which the call itself would refuse. Empty if it would begin. */
  readonly problems: readonly string[]
  /** Reasons to think twice. */
  readonly warnings: readonly string[]
}

/** Joins problems to one text; several get numbers. */
export function problemsText(problems: readonly string[]): string {
  if (problems.length <= 1) return problems.join('')
  return `The planned moves were not announced, for ${problems.length} reasons. ${problems.map((each, i) => `${i + 1}. ${each}`).join(' ')}`
}
