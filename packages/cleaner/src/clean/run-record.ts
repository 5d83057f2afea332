import type { CallOptions } from '@looseleaf/core'
import { countsIn, parseObject } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { editTasks, leadingShard, untilFree } from '@looseleaf/protocol/internal'
import { emptyTally, tallyFrom, type Tally } from '../pass/tally.ts'

/**
 * The cleaning of one index on all shards, stored on the leading shard. Workers that arrive while a run is open join it, and an interrupted run is
 * resumed.
 */
export interface RunRecord {
  readonly run: string
  /** Number of the run, one more than that of the run before. */
  readonly number: number
  readonly state: 'running' | 'done'
  /**
   * True if the run rewrites existing rows, after a restart. Their stamps may have fallen back, and deletes in flight would remove rows with
   * such stamps.
   */
  readonly rewrites: boolean
  /** Start of the run, in milliseconds since 1970. */
  readonly startedAt: number
  /** End of the last complete run; 0 if there is none. */
  readonly finishedAt: number
  /** Counts of the last complete run. */
  readonly tally: Tally
  /** True if the last complete run wrote rows without looking them up; its `added` then says nothing about missing rows. */
  readonly filled: boolean
}

export interface RunWorker {
  readonly owner: string
  /** Milliseconds that other workers wait for one that dies while it changes a record. */
  readonly leaseMs: number
  readonly pollMs: number
}

export function runTask(table: string): string {
  return `clean-run/${table}`
}

/** Loads the run records of these indexes, by table. An index that was never cleaned has no entry. */
export async function loadRuns(
  context: EngineContext,
  tables: readonly string[],
  options?: CallOptions,
): Promise<ReadonlyMap<string, RunRecord>> {
  const states = await leadingShard(context).tasks.loadAll(tables.map(runTask), options)
  return new Map(
    tables.flatMap((table) => {
      const record = runFromText(states.get(runTask(table))?.progress ?? '')
      return record === undefined ? [] : [[table, record] as const]
    }),
  )
}

/**
 * Joins the open runs of these indexes, or begins new ones. With `restart` it always begins new ones, and all workers abandon the older runs.
 */
export async function joinRuns(
  context: EngineContext,
  tables: readonly string[],
  worker: RunWorker,
  { restart = false, ...options }: CallOptions & { readonly restart?: boolean | undefined },
): Promise<ReadonlyMap<string, RunRecord>> {
  const now = context.time.now()
  return replaceRecords(context, tables, worker, options, (_, record) =>
    record?.state === 'running' && !restart
      ? record
      : {
          run: context.random.uuid(),
          number: (record?.number ?? 0) + 1,
          state: 'running',
          rewrites: restart,
          startedAt: now,
          finishedAt: record?.finishedAt ?? 0,
          tally: record?.tally ?? emptyTally(),
          filled: record?.filled ?? false,
        },
  )
}

/**
 * Tells whether the shard lost the record of this run, as after a failover or a restore: the record is gone, and no later run replaced it.
 */
export function isForgotten(run: RunRecord, record: RunRecord | undefined): boolean {
  return record?.run !== run.run && (record?.number ?? 0) <= run.number
}

/** Ends runs, given by table with their outcome. Skips runs that another worker has ended. */
export async function finishRuns(
  context: EngineContext,
  runs: ReadonlyMap<string, Pick<RunRecord, 'run' | 'tally' | 'filled'>>,
  worker: RunWorker,
  options: CallOptions,
): Promise<void> {
  const finishedAt = context.time.now()
  await replaceRecords(context, [...runs.keys()], worker, options, (table, record) => {
    const { run, tally, filled } = runs.get(table)!
    return record?.run === run && record.state === 'running'
      ? { ...record, state: 'done', finishedAt, tally, filled }
      : record
  })
}

/** Replaces each record by `next` of it, under a lease. Waits while another worker changes the record. */
async function replaceRecords<Next extends RunRecord | undefined>(
  context: EngineContext,
  tables: readonly string[],
  worker: RunWorker,
  options: CallOptions,
  next: (table: string, record: RunRecord | undefined) => Next,
): Promise<ReadonlyMap<string, Next>> {
  const { owner, leaseMs, pollMs } = worker
  const { signal } = options
  const records = new Map<string, Next>()
  const remaining = new Map(tables.map((table) => [runTask(table), table]))
  const replace = (text: string, task: string): string => {
    const table = remaining.get(task) as string
    const record = next(table, runFromText(text))
    records.set(table, record)
    return record === undefined ? text : JSON.stringify(record)
  }
  async function replaceRemaining(): Promise<boolean> {
    const { tasks } = leadingShard(context)
    const saved = await editTasks(tasks, [...remaining.keys()], replace, { owner, leaseMs, signal })
    for (const task of saved) remaining.delete(task)
    return remaining.size === 0
  }
  await untilFree(replaceRemaining, { time: context.time, everyMs: pollMs, signal })
  return new Map(tables.map((table) => [table, records.get(table) as Next]))
}

function runFromText(text: string): RunRecord | undefined {
  const value = parseObject(text)
  const run = value?.['run']
  if (value === undefined || typeof run !== 'string') return undefined
  return {
    run,
    ...countsIn(value, ['number', 'startedAt', 'finishedAt']),
    state: value['state'] === 'running' ? 'running' : 'done',
    rewrites: value['rewrites'] === true,
    tally: tallyFrom(value['tally']),
    filled: value['filled'] === true,
  }
}
