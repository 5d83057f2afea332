import type { Inlined, CatalogEntry, IndexState } from '@looseleaf/core/internal'
import type { Throttled } from '@looseleaf/protocol/internal'
import type { StoredPart } from '../clean/part-lease.ts'
import { phases, type Phase } from '../clean/part.ts'
import type { RunRecord } from '../clean/run-record.ts'
import { rowsLeft, rowsLeftOnAll, timeLeftMs } from '../clean/time-left.ts'
import { isHalted } from '../pass/index-target.ts'
import { sumTallies, type Tally } from '../pass/tally.ts'

/** Stored state of the cleaning of one index. */
export interface IndexReport {
  readonly index: string
  readonly generation: number
  readonly state: IndexState
  /** Set for the claims of a unique index. */
  readonly unique?: true
  /** Set if the filling is paused or its index is hidden. No worker continues it until then. */
  readonly halted?: true
  /** The last complete cleaning; undefined before the first. */
  readonly lastRun: LastRun | undefined
  /** The current cleaning, or an interrupted one that waits for a worker. */
  readonly inProgress: RunInProgress | undefined
  /** Values that the index cannot hold and leaves out, as last counted; undefined before the first count. */
  readonly misfits: { readonly count: number; readonly countedAt: Date } | undefined
}

export type LastRun = Inlined<{
  readonly finishedAt: Date
  readonly tally: Tally
  /** Rows that were missing; 0 for a run that filled the index. */
  readonly missing: number
}>

export type RunInProgress = Inlined<{
  readonly startedAt: Date
  /** Time of the last save by a worker, by its clock; undefined before the first. */
  readonly savedAt: Date | undefined
  /** Entities and rows per second, of all workers together. */
  readonly rate: number
  /** Estimated milliseconds for all remaining phases on all shards, at this rate. Undefined while no worker works on it. */
  readonly timeLeftMs: number | undefined
  /** Entities that could not be decoded so far. */
  readonly undecodable: number
  readonly shards: readonly PartReport[]
}>

/** Stored state of a part of a run. */
export type PartReport = Inlined<
  Throttled & {
    readonly shard: number
    /** `waiting` before a worker has begun the part; `unknown` if the shard does not answer. */
    readonly phase: Phase | 'waiting' | 'done' | 'unknown'
    readonly done: number
    readonly total: number
    /** Host and process id of the worker that has the part now; undefined if none has. */
    readonly worker: string | undefined
    /** Entities and rows per second of this worker. */
    readonly rate: number
  }
>

/** The parts on one shard, by table; `unknown` if the shard does not answer. */
export type PartsOnShard = ReadonlyMap<string, StoredPart> | 'unknown'

/** The parts on the shard with this number. */
export interface PartsAt {
  readonly shard: number
  readonly parts: PartsOnShard
}

export function reportIndex(
  entry: CatalogEntry,
  record: RunRecord | undefined,
  onShards: readonly PartsAt[],
): IndexReport {
  const { name, generation, state, table, unique } = entry
  const halted = isHalted(entry)
  const report = { index: name, generation, state, ...(unique && { unique }), ...(halted && { halted }) }
  const lastRun = record === undefined || record.finishedAt === 0 ? undefined : reportLast(record)
  if (record?.state !== 'running') {
    return { ...report, lastRun, inProgress: undefined, misfits: lastRun && misfitsOf(lastRun) }
  }
  const found = onShards.map(({ parts }) => {
    const stored = parts === 'unknown' ? undefined : parts.get(table)
    return stored?.part.run === record.run ? stored : undefined
  })
  const { misfits, undecodable } = sumTallies(found.flatMap((stored) => stored?.part.tally ?? []))
  const inProgress = { ...reportRun(record, state, onShards, found), undecodable }
  const counted = inProgress.savedAt && { count: misfits, countedAt: inProgress.savedAt }
  return { ...report, lastRun, inProgress, misfits: lastRun ? misfitsOf(lastRun) : counted }
}

function reportLast({ finishedAt, tally, filled }: RunRecord): LastRun {
  return { finishedAt: new Date(finishedAt), tally, missing: filled ? 0 : tally.added }
}

function misfitsOf({ finishedAt, tally }: LastRun): { readonly count: number; readonly countedAt: Date } {
  return { count: tally.misfits, countedAt: finishedAt }
}

function reportRun(
  { startedAt }: RunRecord,
  state: IndexState,
  onShards: readonly PartsAt[],
  found: readonly (StoredPart | undefined)[],
): Omit<RunInProgress, 'undecodable'> {
  // Sweeps have no check phase.
  const planned = state === 'building' ? phases : phases.filter((phase) => phase !== 'check')
  const shards = onShards.map(({ shard, parts }, i) => reportPart(shard, parts, found[i]))
  const rate = shards.reduce((sum, part) => sum + part.rate, 0)
  const remaining = rowsLeftOnAll(found.map((stored) => stored && rowsLeft([stored.part], planned)))
  const savedAt = Math.max(0, ...found.map((stored) => stored?.part.pace?.savedAt ?? 0))
  return {
    startedAt: new Date(startedAt),
    savedAt: savedAt === 0 ? undefined : new Date(savedAt),
    rate,
    timeLeftMs: timeLeftMs(remaining, rate),
    shards,
  }
}

function reportPart(shard: number, onShard: PartsOnShard, found: StoredPart | undefined): PartReport {
  const idle = { worker: undefined, rate: 0, throttledBy: undefined, waited: 0 }
  if (found === undefined) {
    return { shard, phase: onShard === 'unknown' ? onShard : 'waiting', done: 0, total: 0, ...idle }
  }
  const { phase, seen, total, pace } = found.part
  const place = { shard, phase, done: seen, total: Math.max(seen, total) }
  if (!found.isHeld || pace === undefined) return { ...place, ...idle }
  const { worker, rate, throttledBy, waited } = pace
  return { ...place, worker: worker === '' ? undefined : worker, rate, throttledBy, waited }
}
