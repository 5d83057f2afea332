import { LooseleafError, type Shard } from '@looseleaf/core'
import { badOption, bucketsIn, type LayoutMove, type RouterBuckets } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'
import type { Throttle } from '../throttle/throttle.ts'

/**
 * Milliseconds for which a process may accept reads that it does not check, after its last look at the catalog of their shard. After an
 * announcement, a move waits for this time before the first bucket changes its owner.
 */
const UNCHECKED_MS = 5_000

/** Milliseconds for which a process relies on its last look at the catalog of a shard. Well below `UNCHECKED_MS`, as clocks run at different rates. */
export const RELIED_MS: number = 0.8 * UNCHECKED_MS

/** Milliseconds after which no process accepts a read that it did not check. The factor covers clocks that run at different rates. */
export const UNCHECKED_WAIT_MS: number = Math.ceil(UNCHECKED_MS * 1.1)

/** Work on the shards of a store that gives way to its calls. */
export interface StoreWork {
  readonly context: EngineContext
  readonly throttle: Throttle
  readonly signal: AbortSignal | undefined
}

/** Work on one move. The steps of a move get it. */
export interface MoveWork extends StoreWork {
  readonly move: LayoutMove
  /** Called between the statements of long steps that report no progress, so that the lease of the move does not end meanwhile. */
  readonly onStatement?: (() => Promise<void>) | undefined
}

export function sourceOf({ context, move }: MoveWork): Shard {
  return shardAt(context, move.from)
}

export function targetOf({ context, move }: MoveWork): Shard {
  return shardAt(context, move.to)
}

/** Returns the buckets of the store's router. Throws `BAD_OPTION` if its layout is fixed. */
export function movableBuckets({ router }: EngineContext): RouterBuckets {
  const buckets = bucketsOf(router)
  if (buckets !== undefined) return buckets
  throw badOption(
    'The router of this store has no buckets, so its layout is fixed, and nothing can move. Copy the data to a store with a bucketRouter.',
  )
}

/** Tells whether an entity is in one of these buckets, such as `77-96`. */
export function entitiesIn(context: EngineContext, buckets: string): (id: Uint8Array) => boolean {
  const { ofId } = movableBuckets(context)
  const some = new Set(bucketsIn(buckets))
  return (id) => some.has(ofId(id))
}

/** Makes the error of a step whose move, or whose attempt at it, was ended by another process. */
export function endedMove({ id }: Pick<LayoutMove, 'id'>, reason: string): LooseleafError {
  return new LooseleafError('CONFLICT', `Move ${id} cannot go on here: ${reason}.`)
}
