export { defineIndex, type IndexDefinition, type IndexOptions } from './definitions/define-index.ts'
export { defineKey, type KeyFunction } from './definitions/key-functions.ts'
export type { NearKey } from './keys/near-key.ts'
export type { IndexedEntity, IndexProperties, Where } from './definitions/property-types.ts'
export type {
  IndexCondition,
  IntersectionPage,
  QueryCost,
  QueryOptions,
  QueryPage,
} from './pages/query-types.ts'
