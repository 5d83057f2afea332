import { defineIndex } from '@looseleaf/store'
import type { ErrorRecord, WrongRecord } from '../failure-records.ts'

export const byOwner = defineIndex('by_owner', {
  properties: { owner: 'integer', n: 'integer' },
  shardOn: 'owner',
})

/** An acknowledged write. */
export interface WroteRecord {
  readonly kind: 'wrote'
  readonly id: string
  /** Sequence number of the write for its entity. */
  readonly n: number
  /** Time after the acknowledgement, in microseconds of the monotonic clock that all processes share. */
  readonly at: number
}

/** A read from replicas. */
export interface ReadRecord {
  readonly kind: 'read'
  /** Time before the call, by the same clock. */
  readonly began: number
  /** `maxStalenessMs`. */
  readonly bound: number
  /** The `n` found for each expected entity; 0 if it was not there. */
  readonly found: readonly (readonly [id: string, n: number])[]
}

/** Totals of a process. */
export interface DoneRecord {
  readonly kind: 'done'
  /** Reads with a token, of this process and of others. */
  readonly own: number
  readonly others: number
  /** Ids and scans that were sent to primaries, and to replicas. */
  readonly toPrimaries: number
  readonly toReplicas: number
}

export type ReplicasRecord = WroteRecord | ReadRecord | WrongRecord | ErrorRecord | DoneRecord

/** Configuration of a process. */
export interface ReplicasConfig {
  readonly shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[]
  readonly seed: number
  /** First number of this round's writes, above those of earlier rounds. */
  readonly base: number
  /**
   * Entities of each process, written by it alone. The last entity holds a token and the state that the token
   * covers.
   */
  readonly idsOf: readonly (readonly string[])[]
  readonly readers: number
}
