export { DataStore } from './data-store.ts'
export { unchanged } from './unchanged.ts'
// What a program says in its calls, so that this package and a driver are enough.
export {
  isLooseleafError,
  LooseleafError,
  metaOf,
  type Bag,
  type CallOptions,
  type Entity,
  type EntityId,
  type ErrorCode,
  type PropertyValue,
  type Storable,
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
export type { PolicyChange } from './catalog/policies.ts'
export type { TrainedDictionary, TrainOptions } from './catalog/train-dictionary.ts'
export type { WhichIndex } from './catalog/which-index.ts'
export { lostDefinitions } from './opening/lost-definitions.ts'
export type { CacheOptions } from './reading/entity-cache.ts'
export type { ListCost, ListOptions, ListPage } from './reading/covering-reads.ts'
export type { IdPage, QueryIdsOptions } from './reading/id-reads.ts'
export type { CountedPage, CountOptions, QueryManyOptions } from './reading/index-queries.ts'
export type { ExplainOptions, QueryExplanation } from './reading/explain.ts'
export type {
  Change,
  ChangeOptions,
  DamagedEntity,
  DataStoreOptions,
  GetManyOptions,
  GetOptions,
  IndexStatus,
  InsertOptions,
  NewIdOptions,
  PutManyResult,
  PutOptions,
  PutResult,
  ScanOptions,
  ShardStatus,
  StoreStatus,
} from './types.ts'
