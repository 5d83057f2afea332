import type { CatalogEntry, IndexState } from '@looseleaf/core'
import { phases, type Part, type Phase } from '../clean/part.ts'
import type { RunRecord } from '../clean/run-record.ts'
import { rowsLeft, rowsLeftOnAll, timeLeftMs } from '../clean/time-left.ts'
import { isHalted } from '../pass/index-target.ts'
import { sumTallies, type Tally } from '../pass/tally.ts'
import type { Throttled } from '../pass/waits.ts'

/** The cleaning of one index, as the shards tell it. */
export interface IndexReport {
  readonly index: string
  readonly generation: number
  readonly state: IndexState
  /** There for the claims of a unique index. */
  readonly unique?: true
  /** There where a filling is paused, or its index hidden: no worker goes on with it until that is over. */
  readonly halted?: true
  /** The last cleaning that came to its end; undefined if none has. */
  readonly lastRun: LastRun | undefined
  /** The one under way, or cut off and waiting for a worker. */
  readonly underWay: RunUnderWay | undefined
  /** Values that the index cannot hold, and so leaves out: as counted last; undefined before. */
  readonly misfits: { readonly count: number; readonly countedAt: Date } | undefined
}

export interface LastRun {
  readonly finishedAt: Date
  readonly tally: Tally
  /** Rows that should have been there and were not; 0 for a run that has filled the index. */
  readonly missing: number
}

export interface RunUnderWay {
  readonly startedAt: Date
  /** When a worker has saved how far it came last, by its clock; undefined before the first time. */
  readonly savedAt: Date | undefined
  /** Entities and rows per second of all workers. */
  readonly rate: number
  /** An estimate, in milliseconds: all phases to come, on all shards, at this rate. Undefined while nobody works on it. */
  readonly timeLeftMs: number | undefined
  /** Entities that it could not decode so far. */
  readonly undecodable: number
  readonly shards: readonly PartReport[]
}

/** What a shard's part of a run says. */
export interface PartReport extends Throttled {
  readonly shard: number
  /** `unknown` where the shard does not answer. */
  readonly phase: Phase | 'waiting' | 'done' | 'unknown'
  readonly done: number
  readonly total: number
  /** Host and process of the worker that has it now; undefined while none has. */
  readonly worker: string | undefined
  /** Its entities and rows per second. */
  readonly rate: number
}

/** The parts on one shard, by the table of their index, and whether a worker has them. */
export type PartsOnShard = ReadonlyMap<string, { readonly part: Part; readonly isHeld: boolean }> | 'unknown'

export function reportIndex(
  entry: CatalogEntry,
  record: RunRecord | undefined,
  onShards: readonly PartsOnShard[],
): IndexReport {
  const { name, generation, state, table, unique } = entry
  const halted = isHalted(entry)
  const report = { index: name, generation, state, ...(unique && { unique }), ...(halted && { halted }) }
  const lastRun = record === undefined || record.finishedAt === 0 ? undefined : reportLast(record)
  if (record?.state !== 'running') {
    return { ...report, lastRun, underWay: undefined, misfits: lastRun && misfitsOf(lastRun) }
  }
  const parts = onShards.flatMap((onShard) => {
    const found = onShard === 'unknown' ? undefined : onShard.get(table)
    return found?.part.run === record.run ? [found.part] : []
  })
  const { misfits, undecodable } = sumTallies(parts.map(({ tally }) => tally))
  const underWay = { ...reportRun(record, table, state, onShards), undecodable }
  const counted = underWay.savedAt && { count: misfits, countedAt: underWay.savedAt }
  return { ...report, lastRun, underWay, misfits: lastRun ? misfitsOf(lastRun) : counted }
}

function reportLast({ finishedAt, tally, filled }: RunRecord): LastRun {
  return { finishedAt: new Date(finishedAt), tally, missing: filled ? 0 : tally.added }
}

function misfitsOf({ finishedAt, tally }: LastRun): { readonly count: number; readonly countedAt: Date } {
  return { count: tally.misfits, countedAt: finishedAt }
}

function reportRun(
  { run, startedAt }: RunRecord,
  table: string,
  state: IndexState,
  onShards: readonly PartsOnShard[],
): Omit<RunUnderWay, 'undecodable'> {
  // A sweep does not check what it has just looked at.
  const planned = state === 'building' ? phases : phases.filter((phase) => phase !== 'check')
  const found = onShards.map((onShard) => {
    if (onShard === 'unknown') return undefined
    const own = onShard.get(table)
    return own?.part.run === run ? own : undefined
  })
  const shards = onShards.map((onShard, shard) => reportPart(shard, onShard, found[shard]))
  const rate = shards.reduce((sum, part) => sum + part.rate, 0)
  const left = rowsLeftOnAll(found.map((own) => own && rowsLeft([own.part], planned)))
  const savedAt = Math.max(0, ...found.map((own) => own?.part.pace?.savedAt ?? 0))
  return {
    startedAt: new Date(startedAt),
    savedAt: savedAt === 0 ? undefined : new Date(savedAt),
    rate,
    timeLeftMs: timeLeftMs(left, rate),
    shards,
  }
}

function reportPart(
  shard: number,
  onShard: PartsOnShard,
  found: { readonly part: Part; readonly isHeld: boolean } | undefined,
): PartReport {
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
