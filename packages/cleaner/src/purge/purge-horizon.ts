import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { consumerPlaces, deleteDelayMs, shardAt } from '@looseleaf/protocol'

/** Consumers that are behind are waited for, so many times as long as tombstones are kept otherwise. */
const MOST_TIMES = 4

/**
 * The time before which tombstones of a shard may go, in microseconds since 1970. A clock that is ahead brings it no nearer, be it that of the
 * database or of this process; and it is no later than the floor, so that whoever begins at the floor has missed nothing.
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
  const clock = Math.min(now, Math.floor(context.time.now() * 1_000))
  const oldest = Math.min(...consumers.values())
  return Math.min(floor, clock - keptMicros, Math.max(oldest, clock - MOST_TIMES * keptMicros))
}
