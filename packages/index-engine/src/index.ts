export { defineIndex, type IndexDefinition, type IndexOptions } from './definitions/define-index.ts'
export type { GetAllOptions, IndexReader, OnDamaged, QueryOrder } from './definitions/index-reader.ts'
export { defineKey, type BuiltInKey, type KeyFunction, type KeyOptions } from './definitions/key-functions.ts'
export type {
  Beginning,
  IndexedBag,
  IndexedEntity,
  IndexProperties,
  PropertyOptions,
  PropertyType,
  Range,
  ValueList,
  ValueOf,
  Where,
} from './definitions/property-types.ts'
export { deriveRows } from './keys/derive-rows.ts'
export { diffRows } from './keys/diff-rows.ts'
export { shardOfRow } from './keys/shard-of-row.ts'
export { planQuery } from './pages/plan-query.ts'
export type {
  IndexCondition,
  IndexConditions,
  IntersectedBag,
  IntersectionPage,
  QueryCost,
  QueryOptions,
  QueryPage,
} from './pages/query-types.ts'
