import { isOutage, type CallOptions, type IndexState } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { cleanableIndexes } from './index-target.ts'
import { loadPart } from './part-lease.ts'
import type { Stage } from './part.ts'
import { readSummary, type CleanerSummary } from './report.ts'
import { loadRun } from './run-record.ts'
import type { Tally } from './tally.ts'
import type { CleanerTarget } from './target.ts'

export interface CleanerReport extends CleanerSummary {
  readonly indexes: readonly IndexReport[]
}

/** The cleaning of one index, as the shards tell it. */
export interface IndexReport {
  readonly index: string
  readonly generation: number
  readonly state: IndexState
  /** The last cleaning that came to its end; undefined if none has. */
  readonly lastRun: { readonly finishedAt: Date; readonly tally: Tally } | undefined
  /** The one under way, or cut off and waiting for a worker. */
  readonly underWay:
    | {
        readonly startedAt: Date
        readonly shards: readonly {
          readonly shard: number
          /** `unknown` where the shard does not answer. */
          readonly phase: Stage | 'waiting' | 'done' | 'unknown'
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
  const { context } = store
  await context.catalog.reload(options)
  const [summary, indexes] = await Promise.all([
    readSummary(context, options),
    Promise.all(cleanableIndexes(context).map((entry) => reportIndex(context, entry, options))),
  ])
  return { ...summary, indexes }
}

async function reportIndex(
  context: EngineContext,
  { name, generation, state, table }: ReturnType<typeof cleanableIndexes>[number],
  options: CallOptions,
): Promise<IndexReport> {
  const record = await loadRun(context, table, options)
  const lastRun =
    record === undefined || record.finishedAt === 0
      ? undefined
      : { finishedAt: new Date(record.finishedAt), tally: record.tally }
  const report = { index: name, generation, state, lastRun }
  if (record?.state !== 'running') return { ...report, underWay: undefined }
  const shards = await Promise.all(
    context.driver.shards.map(async (_, shard) => {
      const part = await loadPart(context, table, shard, options).catch((error: unknown) => {
        if (!isOutage(error)) throw error
        return 'unknown' as const
      })
      if (part === 'unknown') return { shard, phase: part, done: 0, total: 0 }
      if (part?.run !== record.run) return { shard, phase: 'waiting' as const, done: 0, total: 0 }
      return { shard, phase: part.stage, done: part.seen, total: Math.max(part.seen, part.total) }
    }),
  )
  return { ...report, underWay: { startedAt: new Date(record.startedAt), shards } }
}
