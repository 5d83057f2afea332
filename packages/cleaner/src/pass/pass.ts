import { formatId, type Time } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { createThrottle, type Throttle } from '@looseleaf/protocol/internal'
import type { IndexTarget } from './index-target.ts'
import type { PassOptions, Problem } from './pass-options.ts'
import { emptyTally, sumTallies, type Tally } from './tally.ts'
import { TUNING, type Tuned } from './tuning.ts'

const DEFAULT_GRACE_MS = 60_000
/** Entities of a page beside calls. On SQLite its statements block them, for some milliseconds with 500 entities. */
const SMALL_PAGE = 100

/** A piece of cleaning work: its store, its limits, and its counts so far. */
export interface Pass {
  readonly context: EngineContext
  readonly time: Time
  readonly signal: AbortSignal | undefined
  readonly graceMs: number
  readonly throttle: Throttle
  /** Largest number of rows per page. */
  readonly maxPage: number
  /** Returns the number of rows for a page of entities: `maxPage`, or less while calls of this process wait for this one. */
  entityRows(): number
  readonly tally: Tally
  /** Returns the tally for counts of one index: `tally` itself, unless the pass counts by index. */
  tallyOf(target: IndexTarget): Tally
  report(problem: Omit<Problem, 'entity' | 'shard'> & { readonly id: Uint8Array }): void
}

/** Creates a pass. Pass `throttle` to share one with other passes; default: a new one. */
export function createPass(
  context: EngineContext,
  options: Tuned<PassOptions> = {},
  throttle: Throttle = createThrottle(context.time, options.rowsPerSecond, context.share),
): Pass {
  const tally = emptyTally()
  const maxPage = Math.max(1, Math.min(options.pageSize ?? TUNING.pageSize, throttle.maxPage))
  return {
    context,
    time: context.time,
    signal: options.signal,
    graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
    throttle,
    maxPage,
    entityRows: () => (throttle.givesWay() ? Math.min(SMALL_PAGE, maxPage) : maxPage),
    tally,
    tallyOf: () => tally,
    report({ id, ...problem }) {
      const shard = context.driver.shards[context.catalog.latest().placement.shardOfId(id)]?.name ?? ''
      options.onProblem?.({ ...problem, entity: formatId(id), shard })
    },
  }
}

/**
 * Returns the pass with a tally for each index. Counts of entities, such as the number read, belong to the tally of every index.
 */
export function countByIndex<P extends Pass>(
  pass: P,
): {
  readonly pass: P
  tallyFor(target: IndexTarget): Tally
  /** Returns the sum over all indexes, with the counts of entities once. */
  total(): Tally
  /** Returns the number of deleted rows by index name. */
  removed(): ReadonlyMap<string, number>
} {
  const entityTally = emptyTally()
  const indexTallies = new Map<IndexTarget, Tally>()
  const tallyOf = (target: IndexTarget): Tally => {
    const tally = indexTallies.get(target) ?? emptyTally()
    indexTallies.set(target, tally)
    return tally
  }
  return {
    pass: { ...pass, tally: entityTally, tallyOf },
    tallyFor: (target) => sumTallies([entityTally, tallyOf(target)]),
    total: () => sumTallies([entityTally, ...indexTallies.values()]),
    removed() {
      const rows = new Map<string, number>()
      for (const [{ entry }, { removed }] of indexTallies)
        if (removed > 0) rows.set(entry.name, (rows.get(entry.name) ?? 0) + removed)
      return rows
    },
  }
}

export interface Unreadable {
  readonly id: Uint8Array
  /** Error message of the codec. */
  readonly reason: string
}

/**
 * Returns the pass, and collects the entities, by `idKey`, whose body is intact but has a format that this process does not know or a size
 * above its limit. This process cannot write their rows, and other processes would miss them.
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
