import { elapsedBy, untilAborted } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { isOfRemovedShard, isUnreached } from '@looseleaf/protocol/internal'

/** Milliseconds after which failing calls read the catalog once more. In an outage of a shard all calls that need it fail. */
const READ_MS = 1_000
/** Times that a call is made. A second shard may be removed while it is made again. */
export const MAX_CALLS = 3

/**
 * Tells whether a call failed because a shard was removed that this process did not know to be. The call may then be made again. A signal ends
 * the wait for the catalog that tells.
 */
export type RemovalCheck = (error: unknown, signal: AbortSignal | undefined) => Promise<boolean>

/**
 * Makes the check of a store. A process that was suspended goes by an old catalog, and sends its next call to a database that may be switched
 * off by then. The other shards tell.
 */
export function createRemovalCheck(context: EngineContext): RemovalCheck {
  const { catalog, router, time } = context
  // No shard of a fixed layout is ever removed.
  if (bucketsOf(router) === undefined) return () => Promise.resolve(false)
  const elapsed = elapsedBy(time)
  let readAt = -Infinity
  let reading: Promise<unknown> = Promise.resolve()

  return async (failure, signal) => {
    // A write with an unknown outcome might be made twice.
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
