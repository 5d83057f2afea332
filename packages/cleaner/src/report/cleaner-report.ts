import { optionKinds, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { checkStore, shardAt } from '@looseleaf/protocol'
import { partTask } from '../clean/part-lease.ts'
import { partFromText } from '../clean/part.ts'
import { loadRuns } from '../clean/run-record.ts'
import { cleanableIndexes } from '../pass/index-target.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { reportIndex, type IndexReport, type PartsOnShard } from './index-report.ts'
import { isOfShard, reportShard, type ShardReport } from './shard-report.ts'
import { readSummary, type CleanerSummary } from './summary.ts'

export interface CleanerReport extends CleanerSummary {
  readonly indexes: readonly IndexReport[]
  /** How the writes of each shard are followed, in the order of the shards. */
  readonly shards: readonly ShardReport[]
}

/**
 * What the cleaners of a store have found, how far behind the writes they are, and where each index stands; from any process,
 * whether or not it runs one. Little is read, and nothing counted. Rejects when shard 0 does not answer, or refuses.
 */
export async function readCleanerReport(
  store: CleanerStore,
  options: CallOptions = {},
): Promise<CleanerReport> {
  checkStore('readCleanerReport', store, options, { signal: optionKinds.signal })
  const { context } = store
  await context.catalog.reload(options)
  const entries = cleanableIndexes(context)
  const tables = entries.map(({ table }) => table)
  const everyShard = <T>(ask: (shard: number) => Promise<T>): Promise<T[]> =>
    Promise.all(context.driver.shards.map((_, shard) => ask(shard)))
  const [summary, records, parts, shards] = await Promise.all([
    readSummary(context, options),
    loadRuns(context, tables, options),
    everyShard((shard) => partsOn(context, tables, shard, options)),
    everyShard((shard) => reportShard(context, shard, options)),
  ])
  const indexes = entries.map((entry) => reportIndex(entry, records.get(entry.table), parts))
  return { ...summary, indexes, shards }
}

/**
 * The `shards` of that report alone, by what this process knows of the catalog: each shard answers for itself, so those that do are
 * here whichever does not.
 */
export async function readShardReports(
  store: CleanerStore,
  options: CallOptions = {},
): Promise<readonly ShardReport[]> {
  checkStore('readShardReports', store, options, { signal: optionKinds.signal })
  const { context } = store
  return Promise.all(context.driver.shards.map((_, shard) => reportShard(context, shard, options)))
}

async function partsOn(
  context: EngineContext,
  tables: readonly string[],
  shard: number,
  options: CallOptions,
): Promise<PartsOnShard> {
  try {
    const states = await shardAt(context, shard).tasks.loadAll(tables.map(partTask), options)
    return new Map(
      tables.flatMap((table) => {
        const state = states.get(partTask(table))
        const part = partFromText(state?.progress ?? '')
        return part === undefined ? [] : [[table, { part, isHeld: state?.owner !== undefined }] as const]
      }),
    )
  } catch (error) {
    if (!isOfShard(error)) throw error
    return 'unknown'
  }
}
