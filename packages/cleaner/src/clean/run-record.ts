import { countIn, parseObject } from '@looseleaf/core'
import type { CallOptions, TaskTable } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { emptyTally, tallyFrom, type Tally } from '../pass/tally.ts'

/**
 * The cleaning of one index, on all shards: kept on shard 0. Workers that come while one is running join it, and one
 * that was cut off is gone on with.
 */
export interface RunRecord {
  readonly run: string
  /** One more than that of the run before. */
  readonly number: number
  readonly state: 'running' | 'done'
  /**
   * Whether rows that are there are written again: it was begun anew, so their stamps may be older than those that were
   * lost, and would not spare them from deletes that are under way.
   */
  readonly rewrites: boolean
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** When the last complete one ended; 0 if none has. */
  readonly finishedAt: number
  /** What the last complete one did. */
  readonly tally: Tally
  /** Whether that one wrote rows without asking which were there: then `added` says nothing of missing ones. */
  readonly filled: boolean
}

/** What a run has come to. */
export interface RunEnd extends Pick<RunRecord, 'run' | 'tally' | 'filled'> {}

/** Who changes a record, and how. */
export interface RunWorker {
  readonly owner: string
  /** A worker that dies while it changes a record is waited for as long, in milliseconds. */
  readonly leaseMs: number
  readonly pollMs: number
}

export function runTask(table: string): string {
  return `clean-run/${table}`
}

/** The records of these indexes, by table; nothing for one that was never cleaned. */
export async function loadRuns(
  context: EngineContext,
  tables: readonly string[],
  options?: CallOptions,
): Promise<ReadonlyMap<string, RunRecord>> {
  const states = await tasksOf(context).loadAll(tables.map(runTask), options)
  return new Map(
    tables.flatMap((table) => {
      const record = runFromText(states.get(runTask(table))?.progress ?? '')
      return record === undefined ? [] : [[table, record] as const]
    }),
  )
}

/**
 * The runs under way of these indexes, or new ones; with `restart` new ones in any case, for which all workers leave the
 * others.
 */
export async function joinRuns(
  context: EngineContext,
  tables: readonly string[],
  worker: RunWorker,
  { restart = false, ...options }: CallOptions & { readonly restart?: boolean | undefined },
): Promise<ReadonlyMap<string, RunRecord>> {
  const now = context.time.now()
  return change(context, tables, worker, options, (_, record) =>
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
 * Whether a run is not on record any more, though no later one has taken its place: the shard has forgotten it, as after a
 * failover or a restore.
 */
export function isForgotten(own: RunRecord, record: RunRecord | undefined): boolean {
  return record?.run !== own.run && (record?.number ?? 0) <= own.number
}

/** Ends runs, given by table with what they have done; nothing happens where another worker has ended one. */
export async function finishRuns(
  context: EngineContext,
  runs: ReadonlyMap<string, RunEnd>,
  worker: RunWorker,
  options: CallOptions,
): Promise<void> {
  const finishedAt = context.time.now()
  await change(context, [...runs.keys()], worker, options, (table, record) => {
    const own = runs.get(table)
    return own !== undefined && record?.run === own.run && record.state === 'running'
      ? { ...record, state: 'done', finishedAt, tally: own.tally, filled: own.filled }
      : record
  })
}

/** Changes each record, as soon as no other worker is at it. */
async function change<Next extends RunRecord | undefined>(
  context: EngineContext,
  tables: readonly string[],
  worker: RunWorker,
  options: CallOptions,
  next: (table: string, record: RunRecord | undefined) => Next,
): Promise<ReadonlyMap<string, Next>> {
  const tasks = tasksOf(context)
  const { owner, leaseMs, pollMs } = worker
  const done = new Map<string, Next>()
  for (let left = tables; left.length > 0;) {
    const claimed = await tasks.claimAll(left.map(runTask), owner, leaseMs, options)
    const records = new Map<string, Next>()
    const progress = new Map<string, string>()
    for (const table of left) {
      const state = claimed.get(runTask(table))
      if (state === undefined) continue
      const record = next(table, runFromText(state.progress))
      records.set(table, record)
      progress.set(runTask(table), record === undefined ? state.progress : JSON.stringify(record))
    }
    const saved = await tasks.saveAll(progress, owner, 0, options)
    for (const [table, record] of records) if (saved.has(runTask(table))) done.set(table, record)
    left = left.filter((table) => !done.has(table))
    if (left.length > 0) await context.time.sleep(pollMs, options.signal)
  }
  return done
}

function runFromText(text: string): RunRecord | undefined {
  const value = parseObject(text)
  const run = value?.['run']
  if (value === undefined || typeof run !== 'string') return undefined
  return {
    run,
    number: countIn(value, 'number'),
    state: value['state'] === 'running' ? 'running' : 'done',
    rewrites: value['rewrites'] === true,
    startedAt: countIn(value, 'startedAt'),
    finishedAt: countIn(value, 'finishedAt'),
    tally: tallyFrom(value['tally']),
    filled: value['filled'] === true,
  }
}

function tasksOf(context: EngineContext): TaskTable {
  return shardAt(context, 0).tasks
}
