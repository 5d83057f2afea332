import type { Inlined, ConnectionState } from '@looseleaf/core/internal'
import { presentEntries, type StoreDriver } from '@looseleaf/index-engine/internal'
import type { LaneStats, LanesOf } from './calls/shard-lanes.ts'
import type { CallFailures } from './failures/call-tally.ts'
import type { CacheStats } from './reading/freshness/entity-cache.ts'
import type { ReplicaReads, ReplicaStats } from './reading/freshness/replica-reads.ts'
import type { RemovalStats } from './writing/row-removals.ts'

/** Numbers of a store of this process since it was opened. Reading them asks no database. */
export interface StoreStats {
  /** Calls in progress. */
  readonly callsInFlight: number
  /** Calls that have ended, including failed ones. Each bag of `putMany` counts as one more call. */
  readonly calls: number
  /** Calls that failed because of a shard, by code and shard, most frequent first. Mistakes of the caller do not count. */
  readonly failures: readonly CallFailures[]
  readonly shards: readonly ShardStats[]
  /** Lost index rows that wait to be deleted. */
  readonly removals: RemovalStats
  /** Undefined for a store without a cache. */
  readonly cache: CacheStats | undefined
}

export type ShardStats = Inlined<{
  readonly name: string
  /** Undefined for a driver without a pool, such as the one for SQLite. */
  readonly connections: ConnectionState | undefined
  /** Numbers of each lane that has been used. */
  readonly lanes: readonly LaneStats[]
  /** The replicas of the shard, see `from: 'replica'`. */
  readonly replicas: readonly ReplicaStats[]
}>

/** Returns the numbers of all shards that were not removed. */
export function statsOfShards(
  driver: StoreDriver,
  lanesOf: LanesOf,
  replicas: Pick<ReplicaReads, 'stats'>,
): readonly ShardStats[] {
  return presentEntries(driver).map(([number, shard]) => ({
    name: shard.name,
    connections: shard.connections?.(),
    lanes: lanesOf(number).stats(),
    replicas: replicas.stats(number),
  }))
}
