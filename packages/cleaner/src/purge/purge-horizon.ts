import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { consumerPlaces, deleteDelayMs, shardAt } from '@looseleaf/protocol/internal'

/** Purges wait for slow consumers up to this multiple of the time for which tombstones are kept. */
const CONSUMER_FACTOR = 4

/**
 * Returns the time before which tombstones of a shard may be purged, in microseconds since 1970. It uses the earlier of the clocks of the
 * database and this process, so a clock that is ahead causes no early purge. It is never later than the floor, so a consumer that begins at
 * the floor misses no deletion.
 */
export async function purgeHorizon(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<number> {
  const [{ floor, now }, consumers] = await Promise.all([
    shardAt(context, shard).entities.floor(options),
    consumerPlaces(context, shard, options),
  ])
  const { keepTombstonesMs } = context.catalog.current().policies
  const keptMicros = Math.max(keepTombstonesMs, deleteDelayMs(context)) * 1_000
  const clock = Math.min(now, context.time.now() * 1_000)
  const oldest = Math.min(...consumers.values())
  return Math.min(floor, clock - keptMicros, Math.max(oldest, clock - CONSUMER_FACTOR * keptMicros))
}
