import {
  LooseleafError,
  optionKinds,
  withCallbacks,
  type CallOptions,
  type CatalogEntry,
  type IndexState,
  type OptionKinds,
} from '@looseleaf/core'
import { changeCatalog, propagateCatalog, type EngineContext } from '@looseleaf/index-engine'
import { checkStore, deleteDelayMs, shardAt } from '@looseleaf/protocol'
import { DEFAULT_SETTLE_MS } from '../check/check-index.ts'
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
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { createThrottle, type Throttle } from '../pass/throttle.ts'
import type { CleanJob } from './clean-job.ts'
import { completePhase } from './complete-phase.ts'
import { droppedMeanwhile, orDropped } from './dropped-meanwhile.ts'
import { createHalts } from './halts.ts'
import { loadParts, type LeaseOptions } from './part-lease.ts'
import { freshPart, phases } from './part.ts'
import { createProgressMeter, type CleanProgress } from './progress.ts'
import { finishRuns, isForgotten, joinRuns, loadRuns, type RunRecord, type RunWorker } from './run-record.ts'
import { countsOf, toldCleaning, workOn } from './tell-cleaning.ts'

export interface CleanOptions extends PassOptions {
  readonly onProgress?: ((progress: CleanProgress) => void) | undefined
  /** Told each time that nothing is left but what other workers have, or had when they died: that is waited for. */
  readonly onWait?: (() => void) | undefined
  /**
   * Begin from the start, also where work was left off: as after a restore or a failover, when what was done is there no
   * more. A write that is under way then has to begin again, since the rows that it has written may be gone; and every row
   * is written again, since those that are there may have fallen back to an older version. Default: false.
   */
  readonly restart?: boolean | undefined
  /** Check a ready index again at the end. An index that is being filled is always checked. Default: true. */
  readonly check?: boolean | undefined
  /** Time between two looks at a row that seems missing in the check, in milliseconds. Default: 500. */
  readonly settleMs?: number | undefined
  /** Shards worked on at the same time. Default: 4. */
  readonly shardsAtOnce?: number | undefined
  /** How long a part stays with a worker that shows no sign of life, in milliseconds, up to 300,000. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /**
   * Time between two saves of the progress, and between two looks at whether a filling was paused meanwhile, in
   * milliseconds. Default: 1,000.
   */
  readonly checkpointMs?: number | undefined
  /** Time between two looks at what other workers hold, in milliseconds. Default: 500. */
  readonly pollMs?: number | undefined
}

/** What each of them has to be. */
export const cleanOptionKinds: OptionKinds<CleanOptions> = {
  ...passOptionKinds,
  onProgress: optionKinds.function,
  onWait: optionKinds.function,
  restart: optionKinds.flag,
  check: optionKinds.flag,
  settleMs: optionKinds.milliseconds,
  shardsAtOnce: optionKinds.count,
  leaseMs: optionKinds.lease,
  checkpointMs: optionKinds.milliseconds,
  pollMs: optionKinds.milliseconds,
}

/** What was done for one index, by all workers and all attempts of this run. */
export interface CleanedIndex extends Tally {
  readonly index: string
  readonly generation: number
  /** `building` for the claims of a unique index, too, as long as there are `duplicates`. */
  readonly state: IndexState
  /** There for the claims of a unique index. */
  readonly unique?: true
  /** There where its filling was not begun, or left, because it is paused or the index is hidden. The counts are what was done. */
  readonly halted?: true
}

export interface CleanResult {
  readonly indexes: readonly CleanedIndex[]
  /**
   * Over all indexes: rows added (those of a filling, or of a start anew, that were there already count too), dangling rows
   * deleted, entities fenced, dangling rows left for later.
   */
  readonly added: number
  readonly removed: number
  readonly fenced: number
  readonly waiting: number
  /**
   * False where an index is not whole after this: its filling was halted, entities share keys of a unique index (`duplicates`), or an
   * entity could not be decoded (`undecodable`).
   */
  readonly complete: boolean
}

/**
 * Brings indexes in step with the entities, and makes those that are being filled ready: adds missing rows, deletes
 * dangling ones, checks that nothing is missing. Takes the name of an index, several, or none for every index; a generation
 * is named by `{ name, generation }`. A filling that is paused is left alone, from within some seconds of the pause on.
 *
 * It may be cut off at any point and called again, in this process or another: it goes on where it was. Several workers
 * may do it at once; each shard's part is worked on by one of them.
 */
export async function cleanIndex(
  store: CleanerStore,
  names?: IndexName | readonly IndexName[],
  options: CleanOptions = {},
): Promise<CleanResult> {
  checkStore('cleanIndex', store, options, cleanOptionKinds)
  checkNames('cleanIndex', names)
  const { context } = store
  // The entities are read for an index only after every writer of every shard writes its rows.
  const catalog =
    options.restart === true
      ? await changeCatalog(context.driver, (indexes) => indexes, { signal: options.signal })
      : await propagateCatalog(context.driver, { signal: options.signal })
  context.catalog.adopt(catalog)
  const entries = indexesNamed(context, names)
  return withCallbacks(options, (taken) => cleanEntries(context, entries, taken))
}

/** What a cleaner shares among its work. */
export interface SharedByWork {
  readonly throttle?: Throttle
  /** Told of what every page's work has done. */
  readonly onWork?: (tally: Tally) => void
}

/** As `cleanIndex`, for entries of the catalog, which every writer knows already. */
export async function cleanEntries(
  context: EngineContext,
  entries: readonly CatalogEntry[],
  options: CleanOptions,
  shared: SharedByWork = {},
): Promise<CleanResult> {
  const going = entries.filter((entry) => !isHalted(entry))
  const work = (): Promise<CleanResult> =>
    cleanGoing(context, entries, going, options, shared).catch(async (error: unknown) => {
      throw await orDropped(context, going, error, { signal: options.signal })
    })
  return toldCleaning(context.events, going, options.signal, work)
}

async function cleanGoing(
  context: EngineContext,
  entries: readonly CatalogEntry[],
  going: readonly CatalogEntry[],
  options: CleanOptions,
  { throttle: shared, onWork }: SharedByWork,
): Promise<CleanResult> {
  const { signal } = options
  const throttle = shared ?? createThrottle(context.time, options.rowsPerSecond)
  const isChecked = entries.some((entry) => mustCheck(entry, options))
  const planned = phases.filter((phase) => phase !== 'check' || isChecked)
  const meter = createProgressMeter({
    time: context.time,
    throttle,
    shards: context.driver.shards.length,
    planned,
    onProgress: options.onProgress,
    onWork({ entry }, shard, tally) {
      onWork?.(tally)
      const { name } = shardAt(context, shard)
      const counts = countsOf(tally)
      context.events.happened({
        kind: 'cleaned',
        work: workOn(entry),
        index: entry.name,
        shard: name,
        ...counts,
      })
    },
  })
  const lease: LeaseOptions = {
    owner: context.random.uuid(),
    leaseMs: options.leaseMs ?? 30_000,
    checkpointMs: options.checkpointMs ?? 1_000,
    onRemoved: (target, shard, removed) => meter.did(target, shard, { ...emptyTally(), removed }),
    paceOf: meter.paceOf,
  }
  const pollMs = options.pollMs ?? 500
  const tables = going.map(({ table }) => table)
  const { restart } = options
  const records = await joinRuns(context, tables, workerOf(lease, pollMs), { signal, restart })
  const runs = new Map(
    going.map((entry) => [indexTarget(context, entry), records.get(entry.table) as RunRecord] as const),
  )
  const job: CleanJob = {
    context,
    runs,
    lease,
    pollMs,
    settleMs: options.settleMs ?? DEFAULT_SETTLE_MS,
    shardsAtOnce: options.shardsAtOnce ?? 4,
    options,
    onWait: options.onWait,
    throttle,
    halts: createHalts(context, [...runs.keys()], lease.checkpointMs),
    meter,
  }
  for (const phase of planned) {
    const targets = [...runs.keys()].filter(({ entry }) => phase !== 'check' || mustCheck(entry, options))
    await completePhase(job, targets, phase, signal)
    if (phase === 'entities') await untilOutOfReach(job, targets, signal)
  }
  const ended = await finish(job, { signal })
  const left = entries.filter(isHalted).map(({ name: index, generation, state, unique }): CleanedIndex => {
    return { index, generation, state, ...(unique && { unique }), halted: true, ...emptyTally() }
  })
  const indexes = [...ended, ...left]
  const { added, removed, fenced, waiting, duplicates, undecodable } = sumTallies(indexes)
  const complete = duplicates + undecodable === 0 && left.length === 0 && !ended.some(({ halted }) => halted)
  return { indexes, added, removed, fenced, waiting, complete }
}

/**
 * The filling has written the rows of what it read. A failover can bring back what was replaced before it was read, by
 * writers that did not know the index then: such rows are added by the check, or are out of reach of any failover by now. What was brought back
 * and is replaced before the check has its rows by who replaces it, see `RowChange.mayReturn` of the store.
 */
async function untilOutOfReach(
  { context }: CleanJob,
  targets: readonly IndexTarget[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const isFilled = targets.some(({ entry }) => entry.state === 'building')
  const delayMs = deleteDelayMs(context)
  if (isFilled && delayMs > 0) await context.time.sleep(delayMs, signal)
}

/** The records of runs are changed in two statements, which take less than any part. */
function workerOf({ owner, leaseMs }: LeaseOptions, pollMs: number): RunWorker {
  return { owner, leaseMs: Math.min(leaseMs, 5_000), pollMs: Math.min(pollMs, 100) }
}

function mustCheck(entry: CatalogEntry, options: CleanOptions): boolean {
  return entry.state === 'building' || (options.check ?? true)
}

/** Ends the runs, and makes the indexes ready that were filled. */
async function finish(job: CleanJob, call: CallOptions): Promise<CleanedIndex[]> {
  const { context, meter, lease, runs } = job
  const tables = Array.from(runs.keys(), ({ entry }) => entry.table)
  const records = await loadRuns(context, tables, call)
  const parts = await Promise.all(
    context.driver.shards.map((_, shard) => loadParts(context, tables, shard, call)),
  )
  const ends = Array.from(runs, ([target, own]) => {
    const { entry } = target
    const record = records.get(entry.table)
    if (isForgotten(own, record)) {
      throw new LooseleafError(
        'CONFLICT',
        `Index ${entry.name}: the progress of its cleaning is lost, as after a failover or a restore. Clean it again.`,
      )
    }
    const ownParts = parts.map((onShard) => {
      const part = onShard.get(entry.table)
      return part?.run === own.run ? part : freshPart(own.run)
    })
    // A worker that ended the run before this one has made the index ready and summed up.
    const isOpen = record?.run === own.run && record.state === 'running'
    const halted = isOpen && job.halts.has(target)
    const isMine = isOpen && !halted
    const tally = isOpen ? sumTallies(ownParts.map((part) => part.tally)) : (record?.tally ?? emptyTally())
    return { entry, run: own.run, rewrites: own.rewrites, parts: ownParts, isMine, halted, tally }
  })
  const mine = ends.filter(({ isMine }) => isMine)
  const isWhole = ({ entry, parts: own }: (typeof mine)[number]): boolean =>
    entry.state === 'building' && own.every(({ duplicates }) => duplicates === 0)
  const filled = mine.filter(isWhole).map(({ entry }) => entry.table)
  if (filled.length > 0) await makeReady(context, filled, call)
  const ended = new Map(
    mine.map(({ entry, run, tally, rewrites }) => {
      const isFilling = entry.state === 'building' || rewrites
      return [entry.table, { run, tally, filled: isFilling }] as const
    }),
  )
  await finishRuns(context, ended, workerOf(lease, job.pollMs), call)
  if (mine.length < ends.length) await context.catalog.reload(call)
  const now = new Map(context.catalog.current().indexes.map((entry) => [entry.table, entry.state]))
  return ends.map(({ entry: { name, table, generation, unique }, parts: own, halted, tally }) => {
    const state = now.get(table)
    if (state === undefined) throw droppedMeanwhile(name)
    if (halted) return { index: name, generation, state, ...(unique && { unique }), halted, ...tally }
    for (const [shard, part] of own.entries()) meter.tell('ready', shard, [{ index: name, part }])
    return { index: name, generation, state, ...(unique && { unique }), ...tally }
  })
}

/** From now on they may be queried. Nothing happens where one is ready already, or is being dropped. */
async function makeReady(
  context: EngineContext,
  tables: readonly string[],
  call: CallOptions,
): Promise<void> {
  const becomesReady = (entry: CatalogEntry): boolean =>
    tables.includes(entry.table) && entry.state === 'building'
  const catalog = await changeCatalog(
    context.driver,
    (indexes) =>
      indexes.some(becomesReady)
        ? // Whoever paused it in this very moment has come too late.
          indexes.map(({ paused, ...entry }) =>
            becomesReady(entry)
              ? { ...entry, state: 'ready' as const }
              : { ...entry, ...(paused && { paused }) },
          )
        : undefined,
    call,
  )
  context.catalog.adopt(catalog)
}
