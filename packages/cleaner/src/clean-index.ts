import { randomUUID } from 'node:crypto'
import { LooseleafError, type CallOptions, type CatalogEntry, type IndexState } from '@looseleaf/core'
import { changeCatalog, propagateCatalog, type EngineContext } from '@looseleaf/index-engine'
import { DEFAULT_SETTLE_MS } from './check-index.ts'
import { runOf, type CleanJob } from './clean-job.ts'
import { completeStage } from './complete-stage.ts'
import { indexesNamed, indexTarget, type IndexTarget } from './index-target.ts'
import { freshPart, stages } from './part.ts'
import { loadPart, type LeaseOptions } from './part-lease.ts'
import type { PassOptions } from './pass.ts'
import { createProgressMeter, type CleanProgress } from './progress.ts'
import { finishRun, isForgotten, joinRun, loadRun, type RunRecord, type RunWorker } from './run-record.ts'
import { emptyTally, sumTallies, type Tally } from './tally.ts'
import type { CleanerTarget } from './target.ts'
import { createThrottle, type Throttle } from './throttle.ts'

export interface CleanOptions extends PassOptions {
  readonly onProgress?: ((progress: CleanProgress) => void) | undefined
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
  /** How long a part stays with a worker that shows no sign of life, in milliseconds. Default: 30,000. */
  readonly leaseMs?: number | undefined
  /** Time between two saves of the progress, in milliseconds. Default: 1,000. */
  readonly checkpointMs?: number | undefined
  /** Time between two looks at what other workers hold, in milliseconds. Default: 500. */
  readonly pollMs?: number | undefined
}

/** What was done for one index, by all workers and all attempts of this run. */
export interface CleanedIndex extends Tally {
  readonly index: string
  readonly generation: number
  readonly state: IndexState
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
}

/**
 * Brings indexes in step with the entities, and makes those that are being filled ready: adds missing rows, deletes
 * dangling ones, checks that nothing is missing. Takes the name of an index, several, or none for every index.
 *
 * It may be cut off at any point and called again, in this process or another: it goes on where it was. Several workers
 * may do it at once; each shard's part is worked on by one of them.
 */
export async function cleanIndex(
  store: CleanerTarget,
  names?: string | readonly string[],
  options: CleanOptions = {},
): Promise<CleanResult> {
  const { context } = store
  // The entities are read for an index only after every writer of every shard writes its rows.
  const catalog =
    options.restart === true
      ? await changeCatalog(context.driver, (indexes) => indexes, { signal: options.signal })
      : await propagateCatalog(context.driver, { signal: options.signal })
  context.catalog.adopt(catalog)
  return cleanEntries(context, indexesNamed(context, names), options)
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
  { throttle, onWork }: SharedByWork = {},
): Promise<CleanResult> {
  const { signal } = options
  const meter = createProgressMeter(context.time, options.onProgress, onWork)
  const lease: LeaseOptions = {
    owner: randomUUID(),
    leaseMs: options.leaseMs ?? 30_000,
    checkpointMs: options.checkpointMs ?? 1_000,
    onRemoved: (removed) => meter.did({ ...emptyTally(), removed }),
  }
  const pollMs = options.pollMs ?? 500
  const runs = new Map<IndexTarget, RunRecord>()
  for (const entry of entries) {
    const { restart } = options
    const record = await joinRun(context, entry.table, workerOf(lease, pollMs), { signal, restart })
    runs.set(indexTarget(context, entry), record)
  }
  const job: CleanJob = {
    context,
    runs,
    lease,
    pollMs,
    settleMs: options.settleMs ?? DEFAULT_SETTLE_MS,
    shardsAtOnce: options.shardsAtOnce ?? 4,
    options,
    throttle: throttle ?? createThrottle(context.time, options.rowsPerSecond),
    meter,
  }
  for (const stage of stages) {
    const targets = [...runs.keys()].filter(({ entry }) => stage !== 'check' || mustCheck(entry, options))
    await completeStage(job, targets, stage, signal)
    if (stage === 'entities') await untilOutOfReach(job, targets, signal)
  }
  const indexes: CleanedIndex[] = []
  for (const target of runs.keys()) indexes.push(await finish(job, target, { signal }))
  const { added, removed, fenced, waiting } = sumTallies(indexes)
  return { indexes, added, removed, fenced, waiting }
}

/**
 * The filling has written the rows of what it read. A failover can bring back what was replaced before it was read, by
 * writers that did not know the index then: such rows are added by the check, or are out of reach of any failover by now.
 */
async function untilOutOfReach(
  { context }: CleanJob,
  targets: readonly IndexTarget[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const isFilled = targets.some(({ entry }) => entry.state === 'building')
  if (isFilled && context.deleteDelayMs > 0) await context.time.sleep(context.deleteDelayMs, signal)
}

/** The records of runs are changed in two statements, which take less than any part. */
function workerOf({ owner, leaseMs }: LeaseOptions, pollMs: number): RunWorker {
  return { owner, leaseMs: Math.min(leaseMs, 5_000), pollMs: Math.min(pollMs, 100) }
}

function mustCheck(entry: CatalogEntry, options: CleanOptions): boolean {
  return entry.state === 'building' || (options.check ?? true)
}

async function finish(job: CleanJob, target: IndexTarget, call: CallOptions): Promise<CleanedIndex> {
  const { context, meter, lease } = job
  const { name, table, generation } = target.entry
  const ownRun = runOf(job, target)
  const { run } = ownRun
  const parts = await Promise.all(target.tables.map((_, shard) => loadPart(context, table, shard, call)))
  const own = parts.map((part) => (part?.run === run ? part : freshPart(run)))
  const record = await loadRun(context, table, call)
  if (isForgotten(ownRun, record)) {
    throw new LooseleafError(
      'CONFLICT',
      `Index ${name}: how far its cleaning had come is not known any more, as after a failover or a restore. Clean it again.`,
    )
  }
  // A worker that ended the run before this one has made the index ready and summed up.
  const isMine = record?.run === run && record.state === 'running'
  const tally = isMine ? sumTallies(own.map((part) => part.tally)) : (record?.tally ?? sumTallies([]))
  if (isMine) {
    if (target.entry.state === 'building') await makeReady(context, table, call)
    await finishRun(context, table, workerOf(lease, job.pollMs), run, tally, call)
  } else {
    await context.catalog.reload(call)
  }
  const state = context.catalog.current().indexes.find((entry) => entry.table === table)?.state
  if (state === undefined) throw new LooseleafError('INDEX_NOT_FOUND', `Index ${name} was dropped meanwhile.`)
  for (const [shard, part] of own.entries()) meter.tell('ready', shard, [{ index: name, part }])
  return { index: name, generation, state, ...tally }
}

/** From now on it may be queried. Nothing happens where it is ready already, or is being dropped. */
async function makeReady(context: EngineContext, table: string, call: CallOptions): Promise<void> {
  const catalog = await changeCatalog(
    context.driver,
    (indexes) =>
      indexes.some((entry) => entry.table === table && entry.state === 'building')
        ? indexes.map((entry) => (entry.table === table ? { ...entry, state: 'ready' as const } : entry))
        : undefined,
    call,
  )
  context.catalog.adopt(catalog)
}
