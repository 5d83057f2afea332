import {
  optionKinds,
  type EntityId,
  type ErrorCode,
  type OptionKind,
  type OptionKinds,
} from '@looseleaf/core'

/** Something that the cleaner cannot put right by itself. */
export interface Problem {
  /**
   * `undecodable`: the entity's row or its body is damaged, or unknown to the codec. `misfit`: a value that the index cannot hold.
   * `duplicate`: a key of a unique index that another entity has.
   */
  readonly kind: 'undecodable' | 'misfit' | 'duplicate'
  readonly entity: EntityId
  /** The name of the entity's shard. */
  readonly shard: string
  /** The index, for a misfit or a duplicate. */
  readonly index?: string
  /** Of a duplicate: the entity that has the key. */
  readonly holder?: EntityId
  /** Of an undecodable body: `BODY_UNKNOWN` when another process may be able to read it. */
  readonly code?: ErrorCode
  /** In words that name properties and kinds, never values. */
  readonly reason: string
}

export interface PassOptions {
  /** Ends the work with `ABORTED`; what was done stays done. */
  readonly signal?: AbortSignal | undefined
  /**
   * How long a dangling row with a later stamp than its entity is taken for the work of a writer in flight, in
   * milliseconds. Default: 60,000.
   */
  readonly graceMs?: number | undefined
  /** Entities and index rows read per second, at the most. Default: no limit. */
  readonly rowsPerSecond?: number | undefined
  /** Rows of one page at the most. Default: 500. */
  readonly pageSize?: number | undefined
  /** Told of every entity that cannot be put right. May be told of one entity several times. */
  readonly onProblem?: ((problem: Problem) => void) | undefined
}

/** What `rowsPerSecond` has to be. */
export const rate: OptionKind = {
  expected: 'a number above 0',
  fits: (value) => typeof value === 'number' && value > 0,
}

/** What the options of every pass have to be. */
export const passOptionKinds: OptionKinds<PassOptions> = {
  signal: optionKinds.signal,
  graceMs: optionKinds.milliseconds,
  rowsPerSecond: rate,
  pageSize: optionKinds.count,
  onProblem: optionKinds.function,
}
