import { isOutage, optionKinds, type CallOptions, type CatalogEntry, type IndexState } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { loadParts } from '../clean/part-lease.ts'
import type { Part, Phase } from '../clean/part.ts'
import { loadRuns, type RunRecord } from '../clean/run-record.ts'
import { checkCall } from '../pass/check-call.ts'
import { cleanableIndexes } from '../pass/index-target.ts'
import type { Tally } from '../pass/tally.ts'
import type { CleanerTarget } from '../pass/target.ts'
import { readSummary, type CleanerSummary } from './summary.ts'

export interface CleanerReport extends CleanerSummary {
  readonly indexes: readonly IndexReport[]
}

/** The cleaning of one index, as the shards tell it. */
export interface IndexReport {
  readonly index: string
  readonly generation: number
  readonly state: IndexState
  /** There for the claims of a unique index. */
  readonly unique?: true
  /** The last cleaning that came to its end; undefined if none has. */
  readonly lastRun: { readonly finishedAt: Date; readonly tally: Tally } | undefined
  /** The one under way, or cut off and waiting for a worker. */
  readonly underWay:
    | {
        readonly startedAt: Date
        readonly shards: readonly {
          readonly shard: number
          /** `unknown` where the shard does not answer. */
          readonly phase: Phase | 'waiting' | 'done' | 'unknown'
          readonly done: number
          readonly total: number
        }[]
      }
    | undefined
}

/** What the cleaners of a store have found, and where each index stands; from any process, whether or not it runs one. */
export async function readCleanerReport(
  store: CleanerTarget,
  options: CallOptions = {},
): Promise<CleanerReport> {
  checkCall('readCleanerReport', store, options, { signal: optionKinds.signal })
  const { context } = store
  await context.catalog.reload(options)
  const entries = cleanableIndexes(context)
  const tables = entries.map(({ table }) => table)
  const [summary, records, parts] = await Promise.all([
    readSummary(context, options),
    loadRuns(context, tables, options),
    Promise.all(context.driver.shards.map((_, shard) => partsOn(context, tables, shard, options))),
  ])
  const indexes = entries.map((entry) => reportIndex(entry, records.get(entry.table), parts))
  return { ...summary, indexes }
}

type PartsOnShard = ReadonlyMap<string, Part> | 'unknown'

async function partsOn(
  context: EngineContext,
  tables: readonly string[],
  shard: number,
  options: CallOptions,
): Promise<PartsOnShard> {
  try {
    return await loadParts(context, tables, shard, options)
  } catch (error) {
    if (!isOutage(error)) throw error
    return 'unknown'
  }
}

function reportIndex(
  { name, generation, state, table, unique }: CatalogEntry,
  record: RunRecord | undefined,
  parts: readonly PartsOnShard[],
): IndexReport {
  const lastRun =
    record === undefined || record.finishedAt === 0
      ? undefined
      : { finishedAt: new Date(record.finishedAt), tally: record.tally }
  const report = { index: name, generation, state, ...(unique && { unique }), lastRun }
  if (record?.state !== 'running') return { ...report, underWay: undefined }
  const shards = parts.map((onShard, shard) => {
    if (onShard === 'unknown') return { shard, phase: onShard, done: 0, total: 0 }
    const part = onShard.get(table)
    if (part?.run !== record.run) return { shard, phase: 'waiting' as const, done: 0, total: 0 }
    return { shard, phase: part.phase, done: part.seen, total: Math.max(part.seen, part.total) }
  })
  return { ...report, underWay: { startedAt: new Date(record.startedAt), shards } }
}
