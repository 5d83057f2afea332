export { DataStore } from './data-store.ts'
export type { PolicyChange } from './catalog/policies.ts'
export type { WhichIndex } from './catalog/which-index.ts'
export type { ListCost, ListOptions, ListPage } from './reading/covering-reads.ts'
export type { IdPage, QueryIdsOptions } from './reading/id-reads.ts'
export type { CountedPage, CountOptions, QueryManyOptions } from './reading/index-queries.ts'
export type {
  Change,
  ChangeOptions,
  DamagedEntity,
  DataStoreOptions,
  GetManyOptions,
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
