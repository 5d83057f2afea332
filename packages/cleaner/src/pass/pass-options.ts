import type { EntityId, ErrorCode } from '@looseleaf/core'
import { optionKinds, type OptionKind, type OptionKinds } from '@looseleaf/core/internal'

/** A problem that the cleaner cannot repair. */
export interface Problem {
  /**
   * `undecodable`: the entity's row or body is damaged, or the codec does not know its format. `misfit`: a value that the index cannot hold.
   * `duplicate`: a key of a unique index that another entity has.
   */
  readonly kind: 'undecodable' | 'misfit' | 'duplicate'
  readonly entity: EntityId
  /** The name of the entity's shard. */
  readonly shard: string
  /** Name of the index; set for a misfit and a duplicate. */
  readonly index?: string
  /** The entity that has the key; set for a duplicate. */
  readonly holder?: EntityId
  /** Error of the codec; set for an undecodable body. `BODY_UNKNOWN` if another process may be able to decode it. */
  readonly code?: ErrorCode
  /** Description for people. Names properties and kinds, never values. */
  readonly reason: string
}

export interface PassOptions {
  /** Ends the work with `ABORTED`. Completed work is kept. */
  readonly signal?: AbortSignal | undefined
  /**
   * Milliseconds for which a dangling row with a later stamp than its entity counts as the row of a writer in flight. Default: 60,000.
   */
  readonly graceMs?: number | undefined
  /** Largest number of entities and index rows read per second. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Called for every problem, possibly several times for one entity. */
  readonly onProblem?: ((problem: Problem) => void) | undefined
}

export const rate: OptionKind = {
  expected: 'a number above 0',
  fits: (value) => typeof value === 'number' && value > 0,
}

export const passOptionKinds: OptionKinds<PassOptions> = {
  signal: optionKinds.signal,
  graceMs: optionKinds.milliseconds,
  rowsPerSecond: rate,
  onProblem: optionKinds.function,
}
