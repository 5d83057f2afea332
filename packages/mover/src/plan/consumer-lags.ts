import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { joinedRegistry, readProgress, readRegistries, shardAt } from '@looseleaf/protocol/internal'

/** Age in seconds of the oldest change not handled, from which on a plan warns. */
const LATE_SECONDS = 60

/** Warns of consumers that are behind on a source, or whose changes fail there: a move waits for them before its source is emptied. */
export async function consumerLags(
  context: EngineContext,
  source: number,
  options: CallOptions,
): Promise<readonly string[]> {
  const { registries } = await readRegistries(context, options)
  const progress = await readProgress(context, source, joinedRegistry(registries), options)
  const warnings: string[] = []
  for (const [name, { partitions, failing }] of progress) {
    const place = Math.min(...partitions.map(({ updated }) => updated))
    const seconds = await secondsBehind(context, source, place, options)
    const reasons = [
      ...(seconds >= LATE_SECONDS ? [`is ${seconds} seconds behind`] : []),
      ...(failing.length > 0 ? [`has ${failing.length} failing changes`] : []),
    ]
    if (reasons.length > 0)
      warnings.push(
        `Consumer ${name} ${reasons.join(' and ')} on shard ${source}, which keeps what it gives up until the consumer has handled it.`,
      )
  }
  return warnings
}

/** Returns the age of the oldest change behind a place, in whole seconds by the shard's clock; 0 if there is none. */
async function secondsBehind(
  context: EngineContext,
  source: number,
  updated: number,
  options: CallOptions,
): Promise<number> {
  const shard = shardAt(context, source)
  const after = { updated, addedId: Number.MAX_SAFE_INTEGER }
  const [oldest] = await shard.entities.pageOfChanges({ after }, 1, { ...options, maxBody: 0 })
  return oldest === undefined ? 0 : Math.floor(((await shard.now(options)) - oldest.updated) / 1_000_000)
}
