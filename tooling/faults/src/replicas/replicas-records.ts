import { defineIndex } from '@looseleaf/store'
import type { ErrorRecord, WrongRecord } from '../failure-records.ts'

export const byOwner = defineIndex('by_owner', {
  properties: { owner: 'integer', n: 'integer' },
  shardOn: 'owner',
})

/** A write was acknowledged. */
export interface WroteRecord {
  readonly kind: 'wrote'
  readonly id: string
  /** Counts the writes of the entity. */
  readonly n: number
  /** After the acknowledgement, by the monotonic clock that all processes share, in µs. */
  readonly at: number
}

/** A read from replicas. */
export interface ReadRecord {
  readonly kind: 'read'
  /** Before the call, by the same clock. */
  readonly began: number
  /** `maxStalenessMs`. */
  readonly bound: number
  /** What it has found of each entity that it should have: the `n`; 0 where there was nothing. */
  readonly found: readonly (readonly [id: string, n: number])[]
}

/** What a process has done in all. */
export interface DoneRecord {
  readonly kind: 'done'
  /** Reads that had to know what a token stands for: of this process, and of others. */
  readonly own: number
  readonly others: number
  /** Ids and scans that were sent to primaries, and to replicas. */
  readonly toPrimaries: number
  readonly toReplicas: number
}

export type ReplicasRecord = WroteRecord | ReadRecord | WrongRecord | ErrorRecord | DoneRecord

/** What a process is told. */
export interface ReplicasConfig {
  readonly shards: readonly { readonly primary: string; readonly replicas: readonly string[] }[]
  readonly seed: number
  /** Writes are counted from here, above those of earlier rounds. */
  readonly base: number
  /** The entities of each process, which writes them alone; the last one holds a token and what that stands for. */
  readonly idsOf: readonly (readonly string[])[]
  readonly readers: number
}
