import { isLooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'

/** An entity as it was read. */
export interface SeenEntity {
  /** 16 bytes. */
  readonly id: Uint8Array
  /** 0 where there is none, not even a tombstone. */
  readonly version: number
}

/** A catalog that changes so often in a row is no accident. */
const MAX_TRIES = 8

/**
 * Ends every attempt at writing this entity that began from the version that was read, or before: raises its version
 * above `stamp` and leaves its body as it is, or inserts a tombstone where there is nothing. An attempt that is still
 * on its way loses its compare-and-swap then and starts again, and stamps its rows with a greater version.
 *
 * Answers the version that the entity has now; undefined when another write came first, or when it cannot be told:
 * the entity has to be looked at again.
 */
export async function fence(
  context: EngineContext,
  { id, version: base }: SeenEntity,
  stamp: number,
  { signal }: CallOptions = {},
): Promise<number | undefined> {
  const number = context.router.shardOfId(id)
  // The router's shards are the driver's.
  const { entities } = context.driver.shards[number] as Shard
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const version = context.clock.next(Math.max(stamp, base))
    const epoch = context.catalog.current().epochs[number] ?? 0
    try {
      if (base === 0) await entities.insert([{ id, version, body: null }], { epoch, signal })
      else {
        const [row] = await entities.read([id], { signal })
        if (row?.version !== base) return undefined
        const [won] = await entities.replace([{ id, version, body: row.body, base }], { epoch, signal })
        if (won !== true) return undefined
      }
      return version
    } catch (error) {
      if (isLooseleafError(error, 'ALREADY_EXISTS')) return undefined
      // It may have happened; the next look tells.
      if (isLooseleafError(error) && error.unknownOutcome) return undefined
      if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
      await context.catalog.reload({ signal })
    }
  }
  return undefined
}
