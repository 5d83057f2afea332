import { randomUUID } from 'node:crypto'
import type { CallOptions, TaskTable } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from './index-target.ts'
import { countIn, parseObject } from './part.ts'
import { emptyTally, tallyFrom, type Tally } from './tally.ts'

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
}

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

export async function loadRun(
  context: EngineContext,
  table: string,
  options?: CallOptions,
): Promise<RunRecord | undefined> {
  const state = await tasksOf(context).load(runTask(table), options)
  return state && runFromText(state.progress)
}

/** The run under way, or a new one; with `restart` a new one in any case, for which all workers leave the other. */
export async function joinRun(
  context: EngineContext,
  table: string,
  worker: RunWorker,
  { restart = false, ...options }: CallOptions & { readonly restart?: boolean | undefined },
): Promise<RunRecord> {
  const now = context.time.now()
  return change(context, table, worker, options, (record) =>
    record?.state === 'running' && !restart
      ? record
      : {
          run: randomUUID(),
          number: (record?.number ?? 0) + 1,
          state: 'running',
          rewrites: restart,
          startedAt: now,
          finishedAt: record?.finishedAt ?? 0,
          tally: record?.tally ?? emptyTally(),
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

/** Ends a run; nothing happens where another worker has ended it. */
export async function finishRun(
  context: EngineContext,
  table: string,
  worker: RunWorker,
  run: string,
  tally: Tally,
  options: CallOptions,
): Promise<void> {
  const finishedAt = context.time.now()
  await change(context, table, worker, options, (record) =>
    record?.run === run && record.state === 'running'
      ? { ...record, state: 'done', finishedAt, tally }
      : record,
  )
}

async function change<Next extends RunRecord | undefined>(
  context: EngineContext,
  table: string,
  worker: RunWorker,
  options: CallOptions,
  next: (record: RunRecord | undefined) => Next,
): Promise<Next> {
  const tasks = tasksOf(context)
  const name = runTask(table)
  const { owner, leaseMs, pollMs } = worker
  for (;;) {
    const claimed = await tasks.claim(name, owner, leaseMs, options)
    if (claimed !== undefined) {
      const record = next(runFromText(claimed.progress))
      const text = record === undefined ? claimed.progress : JSON.stringify(record)
      if (await tasks.save(name, owner, text, 0, options)) return record
    }
    await context.time.sleep(pollMs, options.signal)
  }
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
  }
}

function tasksOf(context: EngineContext): TaskTable {
  return shardAt(context, 0).tasks
}
