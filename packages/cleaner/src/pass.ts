import { formatId, idKey, type EntityId, type ErrorCode, type Time } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { createKeptRemovals, type KeptRemovals, type RemovedRows } from './kept-removals.ts'
import type { IndexTarget } from './index-target.ts'
import type { LeftToWriters } from './left-to-writers.ts'
import { emptyTally, sumTallies, type Tally } from './tally.ts'
import { createThrottle, type Throttle } from './throttle.ts'

/** Something that the cleaner cannot put right by itself. */
export interface Problem {
  /** `undecodable`: the entity's row or its body is damaged, or unknown to the codec. `misfit`: a value that the index cannot hold. */
  readonly kind: 'undecodable' | 'misfit'
  readonly entity: EntityId
  /** The name of the entity's shard. */
  readonly shard: string
  /** The index, for a misfit. */
  readonly index?: string
  /** Of an undecodable body: `BODY_UNKNOWN` when another process may be able to read it. */
  readonly code?: ErrorCode
  /** In words that name properties and kinds, never values. */
  readonly reason: string
}

export interface PassOptions {
  /** Ends the work with `ABORTED`; what was done stays done. */
  readonly signal?: AbortSignal | undefined
  /**
   * How long a dangling row with a later stamp than its entity is taken for the work of a writer in flight, in
   * milliseconds. Default: 60,000.
   */
  readonly graceMs?: number | undefined
  /** Entities and index rows read per second, at the most. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Rows of one page at the most. Default: 500. */
  readonly pageSize?: number | undefined
  /** Told of every entity that cannot be put right. May be told of one entity several times. */
  readonly onProblem?: ((problem: Problem) => void) | undefined
}

export const DEFAULT_GRACE_MS = 60_000
const DEFAULT_PAGE_SIZE = 500

/** One piece of cleaning work: what it works on, its limits, and what it has done so far. */
export interface Pass {
  readonly context: EngineContext
  readonly time: Time
  readonly signal: AbortSignal | undefined
  readonly graceMs: number
  readonly throttle: Throttle
  /** Rows of one page at the most. */
  readonly maxPage: number
  readonly tally: Tally
  /** Rows that are still to be deleted when the pass has done its work. */
  readonly removals: KeptRemovals
  /** Whether a dangling row with no later stamp than its entity is left to its writer; without this none is. */
  readonly leaves?: LeftToWriters['leaves'] | undefined
  /** Where that is counted which concerns one index: `tally`, unless the pass counts by index. */
  tallyOf(target: IndexTarget): Tally
  report(problem: Omit<Problem, 'entity' | 'shard'> & { readonly id: Uint8Array }): void
}

/** `throttle`, `removals`: shared with other passes; by default its own. */
export function createPass(
  context: EngineContext,
  options: PassOptions = {},
  { throttle, removals }: Partial<Pick<Pass, 'throttle' | 'removals'>> = {},
): Pass {
  const ownThrottle = throttle ?? createThrottle(context.time, options.rowsPerSecond)
  const tally = emptyTally()
  return {
    context,
    time: context.time,
    signal: options.signal,
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    throttle: ownThrottle,
    maxPage: Math.max(1, Math.min(options.pageSize ?? DEFAULT_PAGE_SIZE, ownThrottle.maxPage)),
    removals: removals ?? createKeptRemovals(context),
    tally,
    tallyOf: () => tally,
    report({ id, ...problem }) {
      const shard = context.driver.shards[context.router.shardOfId(id)]?.name ?? ''
      options.onProblem?.({ ...problem, entity: formatId(id), shard })
    },
  }
}

/** Takes in what `pass.removals` has deleted. */
export function countRemoved(pass: Pass, removed: RemovedRows): void {
  for (const [target, count] of removed) pass.tallyOf(target).removed += count
}

/**
 * The same pass, counting each index by itself. What concerns entities, such as how many were looked at, goes into the count
 * of every index.
 */
export function countByIndex(pass: Pass): { readonly pass: Pass; of(target: IndexTarget): Tally } {
  const common = emptyTally()
  const own = new Map<IndexTarget, Tally>()
  const tallyOf = (target: IndexTarget): Tally => {
    const tally = own.get(target) ?? emptyTally()
    own.set(target, tally)
    return tally
  }
  return {
    pass: { ...pass, tally: common, tallyOf },
    of: (target) => sumTallies([common, tallyOf(target)]),
  }
}

/**
 * The same pass, and the ids of entities, by `idKey`, that it meets whole, but in a format that this process does not know
 * or above its limit. Their rows cannot be written here, and another process may find them missing.
 */
export function watchUnreadable(pass: Pass): {
  readonly pass: Pass
  readonly unreadable: Map<string, Uint8Array>
} {
  const unreadable = new Map<string, Uint8Array>()
  const report: Pass['report'] = (problem) => {
    if (problem.code !== undefined && problem.code !== 'BODY_DAMAGED')
      unreadable.set(idKey(problem.id), problem.id)
    pass.report(problem)
  }
  return { pass: { ...pass, report }, unreadable }
}
