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
  type Codec,
  type Driver,
  type DriverFactory,
  type Entity,
  type EntityId,
  type EntityMeta,
  type ErrorCode,
  type Fate,
  type Observer,
  type PropertyValue,
  type Router,
  type Shard,
  type DuplicateKeyError,
  type SomeFailedError,
  type Storable,
  type StoreEvent,
} from '@looseleaf/core'
export {
  defineIndex,
  defineKey,
  type IndexDefinition,
  type IndexedEntity,
  type IndexOptions,
  type IndexProperties,
  type IntersectionPage,
  type KeyFunction,
  type QueryOptions,
  type QueryPage,
  type Where,
} from '@looseleaf/index-engine'
export { deriveId } from '@looseleaf/router'
export type { BatchItem, BatchResults, BatchWrite } from './writing/batch/batch-item.ts'
export type { TrainedDictionary } from './catalog/train-dictionary.ts'
export type { AddedShard } from './shards/add-shard.ts'
export type { ListedShard } from './shards/list-shards.ts'
export type { RepairReport } from './shards/repair-shards.ts'
export type {
  MoveOptions,
  MovePlan,
  MoveProgress,
  MoveReport,
  MoveRequest,
  PlannedMove,
} from '@looseleaf/mover/internal'
export type { StoreShards } from './shards/store-shards.ts'
export type { StoreStats } from './store-stats.ts'
export type { SlowCall } from './observing/slow-calls.ts'
export type { Trace } from './observing/trace.ts'
export type { EntityChange } from './reading/changes/changes.ts'
export type { ListPage } from './reading/queries/list-page.ts'
export type { PartialCount, PartialEntities } from './reading/entities/partial-answer.ts'
export type { IdPage } from './reading/queries/id-page.ts'
export type { CountedPage } from './reading/queries/counts.ts'
export type { QueryExplanation } from './reading/inspection/explain.ts'
export type {
  Edit,
  WriteOptions,
  DamagedEntity,
  DataStoreOptions,
  GetOptions,
  IndexStatus,
  PutOptions,
  PutResult,
  StoreStatus,
} from './types.ts'
