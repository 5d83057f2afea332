import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import {
  type Inlined,
  optionKinds,
  withCallbacks,
  type CatalogEntry,
  type IndexState,
  type OptionKinds,
} from '@looseleaf/core/internal'
import {
  changeCatalog,
  latestContentsEpoch,
  propagateCatalog,
  presentNumbers,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import {
  checkStore,
  deleteDelayMs,
  leadingShard,
  shardAt,
  createThrottle,
  type Throttle,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import { checkNames } from '../pass/check-names.ts'
import {
  indexesNamed,
  indexTarget,
  isHalted,
  type IndexName,
  type IndexTarget,
} from '../pass/index-target.ts'
import { passOptionKinds, type PassOptions } from '../pass/pass-options.ts'
import { emptyTally, sumTallies, type Tally } from '../pass/tally.ts'
import { tuningOf, type Tuned } from '../pass/tuning.ts'
import type { CleanJob } from './clean-job.ts'
import { completePhase } from './complete-phase.ts'
import { droppedIndex, explainMissingTable } from './dropped-index.ts'
import { createHalts } from './halts.ts'
import { loadParts, type LeaseOptions } from './part-lease.ts'
import { freshPart, phases } from './part.ts'
import { createProgressMeter, type CleanProgress } from './progress.ts'
import { finishRuns, isForgotten, joinRuns, loadRuns, type RunRecord, type RunWorker } from './run-record.ts'
import { countsOf, reportCleaning, workOn } from './cleaning-events.ts'

export interface CleanOptions extends PassOptions {
  /** Called with the progress after each page. */
  readonly onProgress?: ((progress: CleanProgress) => void) | undefined
  /** Called each time that the worker waits for parts that other workers have, or had when they died. */
  readonly onWait?: (() => void) | undefined
  /**
   * True starts over instead of resuming, and rewrites every row. Use it after a restore or a failover that lost commits. Writes in flight
   * start over too, because rows that they wrote may be gone. Existing rows are rewritten, because they may have fallen back to an older
   * version. Default: false.
   */
  readonly restart?: boolean | undefined
  /** True checks a ready index at the end. An index that is being filled is always checked. Default: true. */
  readonly check?: boolean | undefined
  /** Milliseconds until other workers take over the parts of a dead one, up to 300,000. Default: 30,000. */
  readonly leaseMs?: number | undefined
}

export const cleanOptionKinds: OptionKinds<CleanOptions> = {
  ...passOptionKinds,
  onProgress: optionKinds.function,
  onWait: optionKinds.function,
  restart: optionKinds.flag,
  check: optionKinds.flag,
  leaseMs: optionKinds.lease,
}

/** Outcome for one index. The counts cover all workers and attempts of this run. */
export type CleanedIndex = Inlined<
  Tally & {
    readonly index: string
    readonly generation: number
    /** State after the run. Claims of a unique index stay `building` while there are `duplicates`. */
    readonly state: IndexState
    /** Set for the claims of a unique index. */
    readonly unique?: true
    /** Set if the filling did not begin, or stopped, because it is paused or the index is hidden. The counts cover the work up to then. */
    readonly halted?: true
  }
>

export interface CleanResult {
  readonly indexes: readonly CleanedIndex[]
  /** Rows added, over all indexes. A filling and a restart count rewritten rows too. */
  readonly added: number
  /** Dangling rows deleted, over all indexes. */
  readonly removed: number
  /** Entities fenced, over all indexes. */
  readonly fenced: number
  /** Dangling rows left for later, over all indexes. */
  readonly postponed: number
  /**
   * False if an index is not complete: its filling was halted, entities share keys of a unique index (`duplicates`), or an entity could not
   * be decoded (`undecodable`).
   */
  readonly complete: boolean
}

/**
 * Brings indexes in step with the entities: adds missing rows, deletes dangling ones, checks that no row is missing, and makes filled indexes
 * ready. `names` is the name of an index, an array of names, or undefined for all indexes; `{ name, generation }` names one generation. A
 * paused filling stops within seconds.
 *
 * The call may be interrupted at any point and repeated, in this process or another; it resumes. Several workers may run it at once; the
 * part of each shard has one worker at a time. Throws `INDEX_NOT_FOUND`; `CONFLICT` if checks keep finding missing rows, or a failover lost
 * the progress; `ABORTED`; and errors of shards.
 */
export async function cleanIndex(
  store: AnyStore,
  names?: IndexName | readonly IndexName[],
  options: CleanOptions = {},
): Promise<CleanResult> {
  checkStore('cleanIndex', store, options, cleanOptionKinds)
  return tunedCleanIndex(store, names, options)
}

/** As `cleanIndex`, with a tuning, and without a check of the options. */
export async function tunedCleanIndex(
  store: AnyStore,
  names?: IndexName | readonly IndexName[],
  options: Tuned<CleanOptions> = {},
): Promise<CleanResult> {
  checkNames('cleanIndex', names)
  const { context } = store
  // The entities may be read only after every writer, on every shard, writes the rows of the index.
  const catalog =
    options.restart === true
      ? await changeCatalog(context.driver, (indexes) => indexes, { signal: options.signal })
      : await propagateCatalog(context.driver, { signal: options.signal })
  context.catalog.adopt(catalog)
  const entries = indexesNamed(context, names)
  return withCallbacks(options, (taken) => cleanEntries(context, entries, taken))
}

/** Resources that a cleaner shares among its runs. */
export interface SharedByWork {
  readonly throttle?: Throttle
  readonly onWork?: (tally: Tally) => void
}

/** As `cleanIndex`, for catalog entries that every writer knows already. */
export async function cleanEntries(
  context: EngineContext,
  entries: readonly CatalogEntry[],
  options: Tuned<CleanOptions>,
  shared: SharedByWork = {},
): Promise<CleanResult> {
  const active = entries.filter((entry) => !isHalted(entry))
  async function work(): Promise<CleanResult> {
    try {
      for (;;) {
        const result = await cleanActive(context, entries, active, options, shared)
        if (result !== undefined) return result
      }
    } catch (error) {
      throw await explainMissingTable(context, active, error, { signal: options.signal })
    }
  }
  return reportCleaning(context.events, active, options.signal, work)
}

/** Resolves with undefined if another shard has become the leading one: the runs begin anew there, because the records were left behind. */
async function cleanActive(
  context: EngineContext,
  entries: readonly CatalogEntry[],
  active: readonly CatalogEntry[],
  options: Tuned<CleanOptions>,
  { throttle: shared, onWork }: SharedByWork,
): Promise<CleanResult | undefined> {
  const { signal } = options
  const tuning = tuningOf(options)
  const throttle = shared ?? createThrottle(context.time, options.rowsPerSecond, context.share)
  const isChecked = entries.some((entry) => mustCheck(entry, options))
  const planned = phases.filter((phase) => phase !== 'check' || isChecked)
  const meter = createProgressMeter({
    time: context.time,
    throttle,
    shardsNow: () => presentNumbers(context.driver),
    planned,
    onProgress: options.onProgress,
  })
  function countWork(target: IndexTarget, shard: number, tally: Tally): void {
    const { entry } = target
    // Rows of a filling were not missing.
    const isFill = entry.state === 'building' || runs.get(target)!.rewrites
    onWork?.(isFill ? { ...tally, added: 0 } : tally)
    context.events.happened({
      kind: 'cleaned',
      work: workOn(entry),
      index: entry.name,
      shard: shardAt(context, shard).name,
      ...countsOf(tally),
    })
  }
  const lease: LeaseOptions = {
    owner: context.random.uuid(),
    leaseMs: options.leaseMs ?? 30_000,
    checkpointMs: tuning.checkpointMs,
    onRemoved: (target, shard, removed) => countWork(target, shard, { ...emptyTally(), removed }),
    paceOf: meter.paceOf,
  }
  const tables = active.map(({ table }) => table)
  const { restart } = options
  const leading = leadingShard(context)
  const records = await joinRuns(context, tables, workerOf(lease, tuning.pollMs), { signal, restart })
  const runs = new Map(
    active.map((entry) => [indexTarget(context, entry), records.get(entry.table) as RunRecord] as const),
  )
  const job: CleanJob = {
    context,
    runs,
    lease,
    ...tuning,
    options,
    onWait: options.onWait,
    throttle,
    halts: createHalts(context, [...runs.keys()], lease.checkpointMs),
    meter,
    countWork,
  }
  for (const phase of planned) {
    const targets = [...runs.keys()].filter(({ entry }) => phase !== 'check' || mustCheck(entry, options))
    await completePhase(job, targets, phase, signal)
    if (phase === 'entities') await waitForFailoverWindow(job, targets, signal)
  }
  const worked = await finish(job, leading, { signal })
  if (worked === undefined) return undefined
  const skipped = entries.filter(isHalted).map(({ name: index, generation, state, unique }): CleanedIndex => {
    return { index, generation, state, ...(unique && { unique }), halted: true, ...emptyTally() }
  })
  const indexes = [...worked, ...skipped]
  const { added, removed, fenced, postponed, duplicates, undecodable } = sumTallies(indexes)
  const complete = duplicates + undecodable === 0 && !indexes.some(({ halted }) => halted)
  return { indexes, added, removed, fenced, postponed, complete }
}

/**
 * Waits after a filling until no failover can undo the commits that it read. Without the wait:
 * 1. Writers that do not know the index yet commit version 1 of an entity, then version 2 with another key.
 * 2. The filling and the check read version 2, so they write only its row.
 * 3. A failover undoes version 2. Version 1 is back, and its row is missing.
 * After the wait, such a failover has either happened, and the check adds the row, or can no longer happen. A writer that replaces the
 * returned version before the check writes its row, see `RowChange.mayReturn` of the store.
 */
async function waitForFailoverWindow(
  { context }: CleanJob,
  targets: readonly IndexTarget[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const isFilled = targets.some(({ entry }) => entry.state === 'building')
  const delayMs = deleteDelayMs(context)
  if (isFilled && delayMs > 0) await context.time.sleep(delayMs, signal)
}

/** Run records are changed by two statements, so their leases can be shorter than those of parts. */
function workerOf({ owner, leaseMs }: LeaseOptions, pollMs: number): RunWorker {
  return { owner, leaseMs: Math.min(leaseMs, 5_000), pollMs: Math.min(pollMs, 100) }
}

function mustCheck(entry: CatalogEntry, options: CleanOptions): boolean {
  return entry.state === 'building' || (options.check ?? true)
}

/**
 * Ends the runs, and makes filled indexes ready. Resolves with undefined, and ends nothing, if the shard that was leading when the runs began
 * was removed.
 */
async function finish(job: CleanJob, leading: Shard, call: CallOptions): Promise<CleanedIndex[] | undefined> {
  const { context, meter, lease, runs } = job
  const tables = Array.from(runs.keys(), ({ entry }) => entry.table)
  const catalog = await context.catalog.reload(call)
  const records = await loadRuns(context, tables, call)
  if (leadingShard(context) !== leading) return undefined
  const shards = presentNumbers(context.driver)
  const parts = await Promise.all(shards.map((shard) => loadParts(context, tables, shard, call)))
  const ends = Array.from(runs, ([target, joined]) => {
    const { entry } = target
    const record = records.get(entry.table)
    if (isForgotten(joined, record)) {
      throw new LooseleafError(
        'CONFLICT',
        `Index ${entry.name}: a failover or a restore has lost the progress of its cleaning. Clean it again.`,
      )
    }
    const { run, rewrites } = joined
    const partsOfRun = parts.map((onShard) => {
      const part = onShard.get(entry.table)?.part
      return part?.run === run ? part : freshPart(run)
    })
    // The record is there, because a missing one is forgotten. If another worker ended the run first, it has made the index ready and saved
    // the sums.
    const isOpen = record!.run === run && record!.state === 'running'
    const halted = isOpen && job.halts.has(target)
    const isMine = isOpen && !halted
    const tally = isOpen ? sumTallies(partsOfRun.map((part) => part.tally)) : record!.tally
    return { entry, run, rewrites, parts: partsOfRun, isMine, halted, tally }
  })
  const mine = ends.filter(({ isMine }) => isMine)
  const isFilled = (end: (typeof mine)[number]): boolean =>
    end.entry.state === 'building' && end.parts.every(({ duplicates }) => duplicates === 0)
  const filled = mine.filter(isFilled).map(({ entry }) => entry.table)
  if (filled.length > 0 && !(await makeReady(context, filled, latestContentsEpoch(catalog), call)))
    return finish(job, leading, call)
  const runEnds = new Map(
    mine.map(({ entry, run, tally, rewrites }) => {
      const isFilling = entry.state === 'building' || rewrites
      return [entry.table, { run, tally, filled: isFilling }] as const
    }),
  )
  await finishRuns(context, runEnds, workerOf(lease, job.pollMs), call)
  if (mine.length < ends.length) await context.catalog.reload(call)
  const states = new Map(context.catalog.current().indexes.map((entry) => [entry.table, entry.state]))
  return ends.map(({ entry: { name, table, generation, unique }, parts: partsOfRun, halted, tally }) => {
    const state = states.get(table)
    if (state === undefined) throw droppedIndex(name)
    if (!halted)
      for (const [i, part] of partsOfRun.entries()) meter.report('ready', shards[i]!, [{ index: name, part }])
    return { index: name, generation, state, ...(unique && { unique }), ...(halted && { halted }), ...tally }
  })
}

/**
 * Makes indexes ready for queries, except those that are ready already or being dropped. Resolves with false if the catalog has other contents
 * than those that were read before the records of the runs: look at these again.
 * 1. A worker reads the record of its run, and is suspended.
 * 2. Another one ends the run. The table is emptied, and a cleaner makes the index `building` again, with another run.
 * 3. The first one would make the index ready without its rows.
 */
async function makeReady(
  context: EngineContext,
  tables: readonly string[],
  contentsEpoch: number,
  call: CallOptions,
): Promise<boolean> {
  const becomesReady = (entry: CatalogEntry): boolean =>
    tables.includes(entry.table) && entry.state === 'building'
  const catalog = await changeCatalog(
    context.driver,
    (indexes) =>
      indexes.some(becomesReady)
        ? // A pause that arrives after the last part is too late, so it is cleared.
          indexes.map(({ paused, ...entry }) =>
            becomesReady(entry)
              ? { ...entry, state: 'ready' as const }
              : { ...entry, ...(paused && { paused }) },
          )
        : undefined,
    { ...call, contentsEpoch },
  )
  context.catalog.adopt(catalog)
  return !catalog.indexes.some(becomesReady)
}
