export { DataStore } from './data-store.ts'
export type { CountOptions } from './index-queries.ts'
export type {
  Change,
  ChangeOptions,
  DataStoreOptions,
  IndexStatus,
  InsertOptions,
  NewIdOptions,
  PutManyResult,
  PutOptions,
  PutResult,
  ShardStatus,
  StoreStatus,
} from './types.ts'
