import type { CallOptions } from '@looseleaf/core'
import { backgroundBackOff, backOffMs, elapsedBy, type CatalogEntry } from '@looseleaf/core/internal'
import {
  changeCatalog,
  propagateCatalog,
  type Catalog,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { cleanEntries, type CleanOptions, type SharedByWork } from '../clean/clean-index.ts'
import { loadRuns, type RunRecord } from '../clean/run-record.ts'
import { cleanableIndexes, isHalted } from '../pass/index-target.ts'
import type { Tuned } from '../pass/tuning.ts'
import { hasBegunSince } from '../tampering/swept-since.ts'

export interface KeepOptions extends Tuned<CleanOptions> {
  readonly signal: AbortSignal
  readonly sweepEveryMs: number
}

/** Starts the filling of new indexes and the regular sweeps of all indexes. */
export interface IndexKeeper {
  /**
   * Reloads the catalog, and starts work that is due and not in progress. A ready index whose last cleaning began before `unsweptSince`
   * (milliseconds since 1970) is cleaned from the start, and all of its rows are rewritten.
   */
  startDue(options: CallOptions, unsweptSince?: number): Promise<void>
  /** Resolves when all started work has ended. Never rejects. */
  ended(): Promise<void>
  readonly filling: readonly string[]
  readonly sweeping: readonly string[]
}

/** Milliseconds until claims are filled again that did not become ready, because entities share a key. */
const UNRESOLVED_MS = 600_000

interface CleanWork {
  readonly isFill: boolean
  /** See `restart` of `CleanOptions`. */
  readonly restart: boolean
}

interface RunningWork {
  readonly entries: readonly CatalogEntry[]
  readonly isFill: boolean
  readonly ended: Promise<void>
}

export function createIndexKeeper(
  context: EngineContext,
  options: KeepOptions,
  shared: SharedByWork,
  onError: (error: unknown) => void,
): IndexKeeper {
  const elapsed = elapsedBy(context.time)
  const running = new Set<RunningWork>()
  /** Failures in a row by table, and the time of the next attempt by `elapsed`. */
  const failed = new Map<string, { readonly failures: number; readonly retryAt: number }>()

  /**
   * Changes the epoch for work that restarts, so that writers in flight start over: rows that they wrote may be gone.
   * For a filling, completes an interrupted change of the catalog.
   */
  function catalogFor({ isFill, restart }: CleanWork): Promise<Catalog> | undefined {
    const call = { signal: options.signal }
    if (restart) return changeCatalog(context.driver, (indexes) => indexes, call)
    return isFill ? propagateCatalog(context.driver, call) : undefined
  }

  async function run(entries: readonly CatalogEntry[], work: CleanWork): Promise<void> {
    try {
      const catalog = await catalogFor(work)
      if (catalog !== undefined) context.catalog.adopt(catalog)
      const { restart } = work
      await cleanEntries(context, entries, { ...options, check: false, restart }, shared)
      for (const { table } of entries) failed.delete(table)
    } catch (error) {
      if (options.signal.aborted) return
      onError(error)
      for (const { table } of entries) {
        const failures = (failed.get(table)?.failures ?? 0) + 1
        failed.set(table, { failures, retryAt: elapsed() + backOffMs(failures, backgroundBackOff) })
      }
    }
  }

  function start(entries: readonly CatalogEntry[], work: CleanWork): void {
    if (entries.length === 0) return
    const started: RunningWork = {
      entries,
      isFill: work.isFill,
      ended: run(entries, work).finally(() => running.delete(started)),
    }
    running.add(started)
  }

  /** Returns the entries whose last run, if any, makes another one due. */
  async function due(
    entries: readonly CatalogEntry[],
    isDue: (last: RunRecord | undefined) => boolean,
    call: CallOptions,
  ): Promise<CatalogEntry[]> {
    if (entries.length === 0) return []
    const tables = entries.map(({ table }) => table)
    const records = await loadRuns(context, tables, call)
    return entries.filter(({ table }) => isDue(records.get(table)))
  }

  // An end this far in the future comes from a clock that was ahead, so the work is due as well.
  const isOlder = (last: RunRecord | undefined, ageMs: number): boolean =>
    last?.state !== 'done' || Math.abs(context.time.now() - last.finishedAt) >= ageMs

  const namesOf = (isFill: boolean): string[] =>
    [...running]
      .filter((work) => work.isFill === isFill)
      .flatMap((work) => work.entries.map(({ name }) => name))

  return {
    get filling() {
      return namesOf(true)
    },
    get sweeping() {
      return namesOf(false)
    },
    async startDue(call, unsweptSince = 0) {
      await context.catalog.reload(call)
      const busy = new Set([...running].flatMap((work) => work.entries.map(({ table }) => table)))
      const free = cleanableIndexes(context).filter(
        ({ table }) => !busy.has(table) && (failed.get(table)?.retryAt ?? -Infinity) <= elapsed(),
      )
      // All fillings share one read of the entities, and so do all sweeps.
      const building = free.filter((entry) => entry.state === 'building' && !isHalted(entry))
      const claims = building.filter(({ unique }) => unique)
      const claimsMs = Math.min(options.sweepEveryMs, UNRESOLVED_MS)
      const dueClaims = await due(claims, (last) => isOlder(last, claimsMs), call)
      start([...building.filter(({ unique }) => !unique), ...dueClaims], { isFill: true, restart: false })
      // Sweeps are not urgent, so only one runs at a time.
      if ([...running].some((work) => !work.isFill)) return
      const ready = free.filter(({ state }) => state === 'ready')
      const unswept =
        unsweptSince === 0 ? [] : await due(ready, (last) => !hasBegunSince(last, unsweptSince), call)
      if (unswept.length > 0) return start(unswept, { isFill: false, restart: true })
      const dueSweeps = await due(ready, (last) => isOlder(last, options.sweepEveryMs), call)
      start(dueSweeps, { isFill: false, restart: false })
    },
    async ended() {
      await Promise.all([...running].map((work) => work.ended))
    },
  }
}
