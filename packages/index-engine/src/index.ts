export {
  DEFAULT_QUERY_TIME_MS,
  isInUse,
  isPaused,
  keptRowsMs,
  mergeCatalogs,
  type Catalog,
} from './catalog.ts'
export { changeCatalog, changeCatalogContents, contentsOf, propagateCatalog } from './change-catalog.ts'
export { encodeCursor, type CursorScope, type PageStart, type RowPlace } from './cursor.ts'
export {
  defineIndex,
  definitionData,
  definitionFromData,
  entriesOf,
  isClaimsOf,
  isEntryOf,
  nextGenerations,
  sameEntry,
  sameRows,
  tableName,
  tableSpec,
  type IndexDefinition,
  type IndexOptions,
} from './define-index.ts'
export { deriveClaims, deriveEntryRows, deriveRows, type DerivedRows, type Misfit } from './derive-rows.ts'
export { diffRows, type RowDiff } from './diff-rows.ts'
export { hideExpired, hideExpiredOfAny, isExpired, isExpiring } from './expiry.ts'
export { createClosing, type Closing } from './closing.ts'
export { createCatalogHolder, type CatalogHolder, type EngineContext } from './engine-context.ts'
export { hasIndexTable, indexesWithLostTables } from './lost-tables.ts'
export { defineKey, type BuiltInKey, type KeyFunction, type KeyOptions } from './key-functions.ts'
export { includedBytes, includedPart } from './included.ts'
export { propertyText } from './parse-property.ts'
export { predicateText, valuesIn } from './predicate.ts'
export { keyIdentity } from './key-identity.ts'
export { fromKeyValue, toKeyValue, type KeyValueResult } from './key-value.ts'
export { shardOfRow } from './place-row.ts'
export {
  MAX_CONDITIONS,
  planIntersection,
  type IntersectionPlan,
  type PlannedCondition,
} from './plan-intersection.ts'
export { planQuery, type PlannedRange, type QueryPlan } from './plan-query.ts'
export type {
  Beginning,
  IndexedBag,
  IndexedEntity,
  IndexProperties,
  NullOf,
  PropertyOptions,
  PropertyType,
  Range,
  RangeOf,
  TypeOf,
  ValueList,
  ValueOf,
  Where,
} from './property-types.ts'
export {
  MAX_LIMIT,
  type GetAllOptions,
  type IndexCondition,
  type IndexConditions,
  type IndexReader,
  type IntersectedBag,
  type IntersectionPage,
  type OnDamaged,
  type QueryCost,
  type QueryOptions,
  type QueryOrder,
  type QueryPage,
} from './query-types.ts'
export {
  askShards,
  loadCatalog,
  loadShardCatalog,
  loadShardCatalogs,
  notMigrated,
  type ShardAnswers,
} from './read-catalogs.ts'
export {
  forEachMatch,
  MAX_PAGE_BYTES,
  MAX_ROWS_EXAMINED,
  runQuery,
  type ByteBudget,
  type QueryPorts,
  type RunOptions,
  type TakeGroup,
} from './run-query.ts'
export type { PagePlan } from './row-source.ts'
export { definitionsFromData } from './definitions-from-data.ts'
export { requireDefinition } from './require-definition.ts'
export { bytesInHand, decodeBody, decodeRow } from './decode-row.ts'
export { toEntity, type ReadEntity } from './to-entity.ts'
export { CATALOG_FORMAT, requirementsOf } from './understood.ts'
export { bodyRuns, longestBody, wholeRows, type WholeRow } from './whole-rows.ts'
export { findStandIn, isStandIn, planByStandIn, type ServingEntry, type StandIn } from './stand-in.ts'
