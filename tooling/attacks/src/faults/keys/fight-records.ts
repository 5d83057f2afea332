/*
 * Records of a fight over the keys of a unique index. Times are microseconds of the monotonic clock that all
 * processes of a machine share; see `moment`.
 */

/** A write is about to be sent. */
export interface FightBegin {
  readonly kind: 'begin'
  /** Unique within a fight; stored in the bag as `by`. */
  readonly number: number
  readonly id: string
  /** Null for a bag without a key, or a delete. */
  readonly key: string | null
  readonly at: number
}

export interface FightEnd {
  readonly kind: 'end'
  readonly number: number
  readonly at: number
  readonly outcome: 'acknowledged' | 'refused' | 'failed' | 'unknown'
  /** Version of an acknowledged put. */
  readonly version?: number | undefined
  /** Holder of the key that a refusal names. */
  readonly holder?: string | undefined
}

export type FightRecord = FightBegin | FightEnd

/** A state of an entity that was read between two times. */
export interface FightSight {
  readonly id: string
  readonly version: number
  readonly key: string | null
  /** The write that made it; null for a tombstone. */
  readonly by: number | null
  readonly start: number
  readonly end: number
}
