import { elapsedBy } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import type { PassOptions } from '../pass/pass-options.ts'
import { createPass } from '../pass/pass.ts'
import type { Throttle } from '../pass/throttle.ts'
import { expireShard, type ExpiryPlaces } from './expire-shard.ts'

/** Rows that one round on a shard looks at, at the most. */
const ROWS_PER_ROUND = 1_000
/** From a round that has found no more to the next one. */
const EVERY_MS = 5_000

/** Deletes expired entities in rounds of bounded work, beside what else a cleaner does on a shard. */
export interface ExpiryRounds {
  /** Begins a round on a shard that this process follows, unless one is under way there or none is due. */
  start(shard: number): void
  /** Resolves when every round has ended. Never rejects. */
  ended(): Promise<void>
  /** Entities that were deleted. */
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
  const underWay = new Map<number, Promise<void>>()
  const dueAt = new Map<number, number>()
  const placesOf = new Map<number, ExpiryPlaces>()
  let deleted = 0

  async function round(shard: number): Promise<void> {
    let pause = EVERY_MS
    const places = placesOf.get(shard) ?? new Map()
    placesOf.set(shard, places)
    try {
      const done = await expireShard(pass, shard, ROWS_PER_ROUND, places)
      deleted += done.deleted
      if (done.isFull) pause = 0
    } catch (error) {
      if (!pass.signal?.aborted) onError(error)
    } finally {
      dueAt.set(shard, elapsed() + pause)
      underWay.delete(shard)
    }
  }

  return {
    start(shard) {
      if (underWay.has(shard) || elapsed() < (dueAt.get(shard) ?? -Infinity)) return
      underWay.set(shard, round(shard))
    },
    async ended() {
      await Promise.all(underWay.values())
    },
    get deleted() {
      return deleted
    },
  }
}
