import { elapsedBy, untilAborted } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { isOfRemovedShard, isUnreached } from '@looseleaf/protocol/internal'

/** Shortest time in milliseconds between two reads of the catalog by failing calls, which are many while a shard is down. */
const READ_MS = 1_000
/** Largest number of attempts of a call. A second shard may be removed during the second attempt. */
export const MAX_CALLS = 3

/**
 * Tells whether a call failed because it needed a shard that was removed without the knowledge of this process. The call may then be repeated.
 * The signal ends the wait for the catalog.
 */
export type RemovalCheck = (error: unknown, signal: AbortSignal | undefined) => Promise<boolean>

/**
 * Makes the check of a store. A process that was suspended goes by an old catalog, and sends its next call to a database that may be switched
 * off by then. The catalogs of the other shards name the removed ones.
 */
export function createRemovalCheck(context: EngineContext): RemovalCheck {
  const { catalog, router, time } = context
  // No shard of a fixed layout is ever removed.
  if (bucketsOf(router) === undefined) return () => Promise.resolve(false)
  const elapsed = elapsedBy(time)
  let readAt = -Infinity
  let reading: Promise<unknown> = Promise.resolve()

  return async (failure, signal) => {
    // A write with an unknown outcome might take place twice.
    if (!isUnreached(failure) || failure.unknownOutcome) return false
    if (isOfRemovedShard(context, failure)) return true
    if (elapsed() - readAt >= READ_MS) {
      readAt = elapsed()
      reading = catalog.reload().catch(() => undefined)
    }
    await untilAborted(reading, signal).catch(() => undefined)
    return !signal?.aborted && isOfRemovedShard(context, failure)
  }
}
