import { formatId, idKey, type Time } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { IndexTarget } from './index-target.ts'
import type { PassOptions, Problem } from './pass-options.ts'
import { emptyTally, sumTallies, type Tally } from './tally.ts'
import { createThrottle, type Throttle } from './throttle.ts'

const DEFAULT_GRACE_MS = 60_000
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
  /** Where that is counted which concerns one index: `tally`, unless the pass counts by index. */
  tallyOf(target: IndexTarget): Tally
  report(problem: Omit<Problem, 'entity' | 'shard'> & { readonly id: Uint8Array }): void
}

/** `throttle`: shared with other passes; by default its own. */
export function createPass(
  context: EngineContext,
  options: PassOptions = {},
  throttle: Throttle = createThrottle(context.time, options.rowsPerSecond),
): Pass {
  const tally = emptyTally()
  return {
    context,
    time: context.time,
    signal: options.signal,
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    throttle,
    maxPage: Math.max(1, Math.min(options.pageSize ?? DEFAULT_PAGE_SIZE, throttle.maxPage)),
    tally,
    tallyOf: () => tally,
    report({ id, ...problem }) {
      const shard = context.driver.shards[context.router.shardOfId(id)]?.name ?? ''
      options.onProblem?.({ ...problem, entity: formatId(id), shard })
    },
  }
}

/**
 * The same pass, counting each index by itself. What concerns entities, such as how many were looked at, goes into the count
 * of every index.
 */
export function countByIndex<P extends Pass>(
  pass: P,
): {
  readonly pass: P
  of(target: IndexTarget): Tally
  /** Of all indexes together, with what concerns entities once. */
  all(): Tally
  /** Rows that were deleted, by the names of their indexes. */
  removed(): ReadonlyMap<string, number>
} {
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
    all: () => sumTallies([common, ...own.values()]),
    removed() {
      const rows = new Map<string, number>()
      for (const [{ entry }, { removed }] of own)
        if (removed > 0) rows.set(entry.name, (rows.get(entry.name) ?? 0) + removed)
      return rows
    },
  }
}

export interface Unreadable {
  readonly id: Uint8Array
  /** What the codec says of its body. */
  readonly reason: string
}

/**
 * The same pass, and the entities, by `idKey`, that it meets whole, but in a format that this process does not know
 * or above its limit. Their rows cannot be written here, and another process may find them missing.
 */
export function watchUnreadable<P extends Pass>(
  pass: P,
): {
  readonly pass: P
  readonly unreadable: ReadonlyMap<string, Unreadable>
} {
  const unreadable = new Map<string, Unreadable>()
  const report: Pass['report'] = (problem) => {
    const { id, code, reason } = problem
    if (code !== undefined && code !== 'BODY_DAMAGED') unreadable.set(idKey(id), { id, reason })
    pass.report(problem)
  }
  return { pass: { ...pass, report }, unreadable }
}
