import type { ConnectionState } from '@looseleaf/core'
import type { LaneStats } from './calls/shard-lanes.ts'
import type { CallFailures } from './failures/call-tally.ts'
import type { CacheStats } from './reading/entity-cache.ts'
import type { ReplicaStats } from './reading/replica-reads.ts'
import type { RemovalStats } from './writing/row-removals.ts'

/** What a store of this process has done since it was opened, and what it does now; no database is asked. */
export interface StoreStats {
  /** Calls that have begun and not ended. */
  readonly callsUnderWay: number
  /** Calls that have ended, failed ones included; each bag of `putMany` is one more. */
  readonly calls: number
  /** Calls that have failed because of a shard, by code and shard, most first; mistakes of the caller are not among them. */
  readonly failures: readonly CallFailures[]
  readonly shards: readonly ShardStats[]
  /** Index rows that entities have lost. */
  readonly removals: RemovalStats
  /** Where the store has a cache. */
  readonly cache: CacheStats | undefined
}

export interface ShardStats {
  readonly name: string
  /** Undefined for a driver that has none to speak of, as that of SQLite. */
  readonly connections: ConnectionState | undefined
  /** Of each lane that has sent something. */
  readonly lanes: readonly LaneStats[]
  /** The servers that follow it, see `from: 'replica'`; empty for a shard without. */
  readonly replicas: readonly ReplicaStats[]
}
