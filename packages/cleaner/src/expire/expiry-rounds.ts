import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { Throttle } from '@looseleaf/protocol/internal'
import type { PassOptions } from '../pass/pass-options.ts'
import { createPass } from '../pass/pass.ts'
import { expireShard, type ExpiryPlaces } from './expire-shard.ts'

/** Largest number of index rows read per round and shard. */
const ROWS_PER_ROUND = 1_000
/** Milliseconds until the next round after one that found no more due rows. */
const EVERY_MS = 5_000

/** Deletes expired entities in bounded rounds, in the background of a cleaner's other work on a shard. */
export interface ExpiryRounds {
  /** Begins a round on a shard, unless one is in flight there or none is due. */
  start(shard: number): void
  /** Resolves when every round has ended. Never rejects. */
  ended(): Promise<void>
  readonly deleted: number
}

export function createExpiryRounds(
  context: EngineContext,
  options: Pick<PassOptions, 'signal' | 'onProblem'>,
  throttle: Throttle,
  onError: (error: unknown) => void,
): ExpiryRounds {
  const elapsed = elapsedBy(context.time)
  const pass = createPass(context, options, throttle)
  const inFlight = new Map<number, Promise<void>>()
  const dueAt = new Map<number, number>()
  const placesOf = new Map<number, ExpiryPlaces>()
  let deleted = 0

  async function round(shard: number): Promise<void> {
    let pause = EVERY_MS
    const places = placesOf.get(shard) ?? new Map()
    placesOf.set(shard, places)
    try {
      const expired = await expireShard(pass, shard, ROWS_PER_ROUND, places)
      deleted += expired.deleted
      if (expired.isFull) pause = 0
    } catch (error) {
      if (!pass.signal?.aborted) onError(error)
    } finally {
      dueAt.set(shard, elapsed() + pause)
      inFlight.delete(shard)
    }
  }

  return {
    start(shard) {
      if (inFlight.has(shard) || elapsed() < (dueAt.get(shard) ?? -Infinity)) return
      inFlight.set(shard, round(shard))
    },
    async ended() {
      await Promise.all(inFlight.values())
    },
    get deleted() {
      return deleted
    },
  }
}
