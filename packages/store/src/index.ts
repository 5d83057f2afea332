export { DataStore } from './data-store.ts'
export { unchanged } from './unchanged.ts'
// Everything that calls need, so that a program can do with this package and a driver.
export {
  isLooseleafError,
  LooseleafError,
  metaOf,
  type Bag,
  type BulkOptions,
  type CallOptions,
  type ConnectionState,
  type Entity,
  type EntityId,
  type BegunCall,
  type EndedCall,
  type ErrorCode,
  type Fate,
  type FateOptions,
  type Observer,
  type PropertyValue,
  type ReplicaReadOptions,
  type SentStatement,
  type DuplicateKeyError,
  type SomeFailedError,
  type Storable,
  type StoreEvent,
  type StoreEvents,
  type ValueOptions,
} from '@looseleaf/core'
export {
  defineIndex,
  defineKey,
  type GetAllOptions,
  type IndexConditions,
  type IndexDefinition,
  type IndexedEntity,
  type IndexOptions,
  type IndexProperties,
  type KeyFunction,
  type KeyOptions,
  type OnDamaged,
  type QueryOptions,
  type QueryPage,
  type Where,
} from '@looseleaf/index-engine'
export { deriveId } from '@looseleaf/router'
export type { PolicyChange } from './catalog/policies.ts'
export type { ShardStats, StoreStats } from './store-stats.ts'
export type { SlowCall, SlowStatement } from './observing/slow-calls.ts'
export type { Trace, TracedCall, TracedStatement } from './observing/trace.ts'
export type { RemovalStats } from './writing/row-removals.ts'
export type { WhichIndex } from './catalog/which-index.ts'
export type { LaneStats } from './calls/shard-lanes.ts'
export type { ChangesOptions, EntityChange } from './reading/changes/changes.ts'
export type { FollowedStats } from './reading/freshness/cache-follower.ts'
export type { CacheOptions, CacheStats } from './reading/freshness/entity-cache.ts'
export type { ListOptions, ListPage } from './reading/queries/list-page.ts'
export type { ListCost } from './reading/rows/list-cost.ts'
export type { IdPage, QueryIdsOptions } from './reading/queries/id-page.ts'
export type { CountedPage, CountOptions, QueryManyOptions } from './reading/queries/counts.ts'
export type { ExplainOptions, QueryExplanation } from './reading/inspection/explain.ts'
export type {
  Change,
  ChangeOptions,
  DamagedEntity,
  DataStoreOptions,
  GetManyOptions,
  ExistsOptions,
  GetOptions,
  IndexStatus,
  InsertOptions,
  NewIdOptions,
  PutOptions,
  PutResult,
  ScanOptions,
  ShardStatus,
  StoreStatus,
} from './types.ts'
