import type { CallOptions } from '@looseleaf/core'
import { isOfShard, optionKinds } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { checkStore, type AnyStore } from '@looseleaf/protocol/internal'
import { loadParts } from '../clean/part-lease.ts'
import { loadRuns } from '../clean/run-record.ts'
import { cleanableIndexes } from '../pass/index-target.ts'
import { reportIndex, type IndexReport, type PartsOnShard } from './index-report.ts'
import { reportShard, type ShardReport } from './shard-report.ts'
import { readSummary, type CleanerSummary } from './summary.ts'

export interface CleanerReport extends CleanerSummary {
  readonly indexes: readonly IndexReport[]
  /** The following of writes, one item per shard, in the order of the shards. */
  readonly shards: readonly ShardReport[]
}

/**
 * Reads what the cleaners of all processes have found, how far they are behind the writes, and the state of each index. Any process may call it,
 * with or without a cleaner. Reads few rows and counts none. Throws if the leading shard does not answer.
 */
export async function readCleanerReport(store: AnyStore, options: CallOptions = {}): Promise<CleanerReport> {
  checkStore('readCleanerReport', store, options, { signal: optionKinds.signal })
  const { context } = store
  await context.catalog.reload(options)
  const entries = cleanableIndexes(context)
  const tables = entries.map(({ table }) => table)
  const onEveryShard = <T>(read: (shard: number) => Promise<T>): Promise<T[]> =>
    Promise.all(presentNumbers(context.driver).map((shard) => read(shard)))
  const [summary, records, parts, shards] = await Promise.all([
    readSummary(context, options),
    loadRuns(context, tables, options),
    onEveryShard(async (shard) => ({ shard, parts: await partsOn(context, tables, shard, options) })),
    onEveryShard((shard) => reportShard(context, shard, options)),
  ])
  const indexes = entries.map((entry) => reportIndex(entry, records.get(entry.table), parts))
  return { ...summary, indexes, shards }
}

/**
 * Reads only the `shards` of that report, with the catalog that this process knows. A shard that does not answer is reported by its `error`,
 * also the leading one.
 */
export async function readShardReports(
  store: AnyStore,
  options: CallOptions = {},
): Promise<readonly ShardReport[]> {
  const { context } = store
  return Promise.all(presentNumbers(context.driver).map((shard) => reportShard(context, shard, options)))
}

async function partsOn(
  context: EngineContext,
  tables: readonly string[],
  shard: number,
  options: CallOptions,
): Promise<PartsOnShard> {
  try {
    return await loadParts(context, tables, shard, options)
  } catch (error) {
    if (!isOfShard(error)) throw error
    return 'unknown'
  }
}
