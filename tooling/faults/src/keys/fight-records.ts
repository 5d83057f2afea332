/*
 * What is written down of a fight over the keys of a unique index. Moments are microseconds of the monotonic clock that all
 * processes of a machine share; see `moment`.
 */

/** A write is about to be sent. */
export interface FightBegin {
  readonly kind: 'begin'
  /** Unique within a fight; the bag says it as `by`. */
  readonly number: number
  readonly id: string
  /** Null: none, or a delete. */
  readonly key: string | null
  readonly at: number
}

export interface FightEnd {
  readonly kind: 'end'
  readonly number: number
  readonly at: number
  readonly outcome: 'acknowledged' | 'refused' | 'failed' | 'unknown'
  /** Of an acknowledged put. */
  readonly version?: number | undefined
  /** Who has the key, of one that was refused. */
  readonly holder?: string | undefined
}

export type FightRecord = FightBegin | FightEnd

/** An entity as somebody saw it between two moments. */
export interface FightSight {
  readonly id: string
  readonly version: number
  readonly key: string | null
  /** The write that has made it; null for a tombstone. */
  readonly by: number | null
  readonly start: number
  readonly end: number
}
