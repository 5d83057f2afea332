import { type CallOptions, type CatalogEntry, elapsedBy, retryAfter } from '@looseleaf/core'
import { changeCatalog, propagateCatalog, type Catalog, type EngineContext } from '@looseleaf/index-engine'
import { cleanEntries, type CleanOptions, type SharedByWork } from '../clean/clean-index.ts'
import { loadRuns } from '../clean/run-record.ts'
import { cleanableIndexes, isHalted } from '../pass/index-target.ts'
import { hasBegunSince } from '../tampering/swept-since.ts'

export interface KeepOptions extends CleanOptions {
  readonly signal: AbortSignal
  /** Time between the end of a sweep of an index and the next one, in milliseconds. */
  readonly sweepEveryMs: number
}

/** Sees to it that new indexes are filled and all are swept from time to time. */
export interface IndexKeeper {
  /**
   * Looks at the catalog, and starts whatever is to be done and not under way. A ready index whose last cleaning began before `unsweptSince`, in
   * milliseconds since 1970, is cleaned anew.
   */
  startDue(options: CallOptions, unsweptSince?: number): Promise<void>
  /** Resolves when everything that was started has ended. Never rejects. */
  ended(): Promise<void>
  /** Names of the indexes that are being filled, and swept, by this process. */
  readonly filling: readonly string[]
  readonly sweeping: readonly string[]
}

/** Claims that are still being filled when a run has ended wait for somebody to change entities that share a key. */
const UNRESOLVED_MS = 600_000

interface CleanWork {
  readonly isFill: boolean
  /** See `restart` of `CleanOptions`. */
  readonly restart: boolean
}

interface CleanUnderWay {
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
  const underWay = new Set<CleanUnderWay>()
  /** Work that has failed, by table: how often in a row, and when it is tried again, by `elapsed`. */
  const failed = new Map<string, { readonly failures: number; readonly retryAt: number }>()

  /** A writer under way begins again where work is begun anew: the rows that it has written may be gone. */
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
        const failures = failed.get(table)?.failures ?? 0
        failed.set(table, { failures: failures + 1, retryAt: elapsed() + retryAfter(failures) })
      }
    }
  }

  function start(entries: readonly CatalogEntry[], begun: CleanWork): void {
    if (entries.length === 0) return
    const work: CleanUnderWay = {
      entries,
      isFill: begun.isFill,
      ended: run(entries, begun).finally(() => underWay.delete(work)),
    }
    underWay.add(work)
  }

  async function due(
    entries: readonly CatalogEntry[],
    everyMs: number,
    call: CallOptions,
  ): Promise<CatalogEntry[]> {
    if (entries.length === 0) return []
    const tables = entries.map(({ table }) => table)
    const records = await loadRuns(context, tables, call)
    return entries.filter(({ table }) => {
      const record = records.get(table)
      if (record === undefined || record.state === 'running') return true
      // An end that is as far ahead was given by a clock that was ahead.
      return Math.abs(context.time.now() - record.finishedAt) >= everyMs
    })
  }

  async function begunBefore(
    entries: readonly CatalogEntry[],
    since: number,
    call: CallOptions,
  ): Promise<CatalogEntry[]> {
    const tables = entries.map(({ table }) => table)
    const records = await loadRuns(context, tables, call)
    return entries.filter(({ table }) => !hasBegunSince(records.get(table), since))
  }

  const namesOf = (isFill: boolean): string[] =>
    [...underWay]
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
      const busy = new Set([...underWay].flatMap((work) => work.entries.map(({ table }) => table)))
      const free = cleanableIndexes(context).filter(
        ({ table }) => !busy.has(table) && (failed.get(table)?.retryAt ?? -Infinity) <= elapsed(),
      )
      // All that are to be filled share one reading of the entities, and so do all that are to be swept.
      const building = free.filter((entry) => entry.state === 'building' && !isHalted(entry))
      const claims = building.filter(({ unique }) => unique)
      const open = await due(claims, Math.min(options.sweepEveryMs, UNRESOLVED_MS), call)
      start([...building.filter(({ unique }) => !unique), ...open], { isFill: true, restart: false })
      // A sweep has time: one at once, and it is looked for again when that has ended.
      if ([...underWay].some((work) => !work.isFill)) return
      const ready = free.filter(({ state }) => state === 'ready')
      const older = unsweptSince === 0 ? [] : await begunBefore(ready, unsweptSince, call)
      if (older.length > 0) return start(older, { isFill: false, restart: true })
      start(await due(ready, options.sweepEveryMs, call), { isFill: false, restart: false })
    },
    async ended() {
      await Promise.all([...underWay].map((work) => work.ended))
    },
  }
}
