/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { ownerFaults, type OwnerFault } from '@looseleaf/protocol/internal'
export type { AddShardOptions } from './shards/add-shard.ts'
export type { ListShardsOptions } from './shards/list-shards.ts'
export type { RemoveShardOptions } from './shards/remove-shard.ts'
export { optionsOf } from './call-options.ts'
export type { TrainOptions } from './catalog/train-dictionary.ts'
export {
  brokenText,
  inspectBodies,
  type BodyInspection,
  type BrokenCodecEntry,
} from './opening/inspect-bodies.ts'
export {
  prepared,
  type BatchCheck,
  type BatchDelete,
  type BatchInsert,
  type BatchOptions,
  type BatchPut,
  type BatchUpdate,
  type BegunWrite,
  type PreparedWrite,
} from './writing/batch/batch-item.ts'
export { repairVersion } from './writing/repair-version.ts'
export type { CallFailures } from './failures/call-tally.ts'
export { NOTED_MS, type FailureReport } from './failures/failure-note.ts'
export { probeShards, type ShardProbe } from './failures/probe-shards.ts'
export { readFailures, type ReadFailuresOptions } from './failures/read-failures.ts'
export { readReplicas, type ReplicaReport } from './reading/inspection/replica-report.ts'
export type { ChangesOptions } from './reading/changes/changes.ts'
export type { ReplicaStats } from './reading/freshness/replica-reads.ts'
export {
  inspectEntity,
  type InspectedEntity,
  type InspectedRow,
  type StoredEntity,
} from './reading/inspection/inspect-entity.ts'
export {
  inspectIndexRows,
  type IndexRowsToInspect,
  type InspectedIndexRow,
  type InspectedIndexRows,
} from './reading/inspection/inspect-index.ts'
export type { InspectedValue } from './reading/inspection/inspected-keys.ts'
export type { ShardStats } from './store-stats.ts'
export type { SlowStatement } from './observing/slow-calls.ts'
export type { TracedCall, TracedStatement } from './observing/trace.ts'
export type { RemovalStats } from './writing/row-removals.ts'
export type { IndexSelector } from './catalog/index-selector.ts'
export type { LaneStats } from './calls/shard-lanes.ts'
export type { FollowedStats } from './reading/freshness/cache-follower.ts'
export type { CacheOptions, CacheStats } from './reading/freshness/entity-cache.ts'
export type { ListCost } from './reading/rows/list-cost.ts'
export type { ListOptions } from './reading/queries/list-page.ts'
export type { QueryIdsOptions } from './reading/queries/id-page.ts'
export type { CountOptions, QueryManyOptions } from './reading/queries/counts.ts'
export type { AnswerOf } from './reading/entities/partial-answer.ts'
export type { ExplainOptions } from './reading/inspection/explain.ts'
export type {
  GetManyOptions,
  ExistsOptions,
  InsertOptions,
  NewIdOptions,
  ScanOptions,
  ShardStatus,
} from './types.ts'
