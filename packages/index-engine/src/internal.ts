/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { isPending, type Bodies } from './bodies/bodies.ts'
export { isOneOf, mayBeOfKinds } from './bodies/may-be-of-kinds.ts'
export { bytesInHand, decodeBody, decodeRow } from './bodies/decode-row.ts'
export { toEntity, type ReadEntity } from './bodies/to-entity.ts'
export { bodyRuns, longestBody, wholeRows, type WholeRow } from './bodies/whole-rows.ts'
export { createMatcher } from './conditions/matcher.ts'
export {
  entriesOf,
  isClaimsOf,
  isEntryOf,
  nextGenerations,
  sameEntry,
  sameRows,
  tableName,
  tableSpec,
} from './definitions/catalog-entries.ts'
export { definitionData, definitionFromData } from './definitions/define-index.ts'
export { definitionsFromData } from './definitions/definitions-from-data.ts'
export { isExpiring } from './definitions/expiring-index.ts'
export { propertyText } from './definitions/parse-property.ts'
export { predicateText, valuesIn } from './definitions/predicate.ts'
export type {
  Beginning,
  IndexedBag,
  NullOf,
  PropertyOptions,
  PropertyType,
  Range,
  RangeOf,
  TypeOf,
  ValueList,
  ValueOf,
} from './definitions/property-types.ts'
export { requireDefinition } from './definitions/require-definition.ts'
export { deriveClaims, deriveEntryRows, deriveRows } from './keys/derive-rows.ts'
export { diffRows } from './keys/diff-rows.ts'
export { includedBytes, includedPart } from './keys/included-part.ts'
export { keyIdentity } from './keys/key-identity.ts'
export { fromKeyValue, toKeyValue } from './keys/key-value.ts'
export { encodeCursor, type RowPlace } from './pages/cursor.ts'
export { expiryOf, hideExpired, hideExpiredOfAny, isExpired } from './pages/hide-expired.ts'
export { MAX_CONDITIONS, planIntersection, type IntersectionPlan } from './pages/plan-intersection.ts'
export { planQuery, type QueryPlan } from './pages/plan-query.ts'
export { MAX_LIMIT, type IndexConditions, type IntersectedBag, type QueryCost } from './pages/query-types.ts'
export {
  forEachMatch,
  MAX_PAGE_BYTES,
  runQuery,
  type ByteBudget,
  type QueryPorts,
  type TakeGroup,
} from './pages/run-query.ts'
export { findStandIn, isStandIn, planByStandIn, type ServingEntry } from './pages/stand-in.ts'
export { createCatalogHolder, type CatalogHolder } from './catalog/catalog-holder.ts'
export {
  DEFAULT_QUERY_TIME_MS,
  contentsEpochOf,
  latestContentsEpoch,
  isInUse,
  isPaused,
  keptRowsMs,
  mergeCatalogs,
  latestLayout,
  type Catalog,
  type PlacedCatalog,
} from './catalog/catalog.ts'
export { bucketsOf, firstLayout } from './catalog/layout.ts'
export { requireEntityTable } from './catalog/entity-table.ts'
export { presentEntries, presentNumbers, presentShards, type StoreDriver } from './catalog/store-driver.ts'
export { exactStepsOf, hasNearRows, protectedTablesOf } from './catalog/exact-indexes.ts'
export { createPlacement, isWritable, placementOfRouter, type Placement } from './catalog/placement.ts'
export {
  changeCatalog,
  changeCatalogContents,
  copyCatalog,
  propagateCatalog,
} from './catalog/change-catalog.ts'
export { contentsOf, type CatalogContents } from './catalog/catalog-contents.ts'
export { changeServes, copiedEpochs } from './catalog/shard-epochs.ts'
export { createSharedReading } from './catalog/shared-reading.ts'
export { hasIndexTable, indexesWithMissingTables } from './catalog/missing-tables.ts'
export {
  anyCatalog,
  askMigratedShards,
  askShards,
  isRemoved,
  loadCatalog,
  loadShardCatalog,
  loadShardCatalogs,
  notMigrated,
  settledRemovals,
  type ShardAnswers,
} from './catalog/read-catalogs.ts'
export { CATALOG_FORMAT, requirementsOf } from './catalog/requirements.ts'
export { createClosing } from './closing.ts'
export { createLoopShare, type LoopShare } from './loop-share.ts'
export type { EngineContext } from './engine-context.ts'
export type {
  GetAllOptions,
  IndexReader,
  OnDamaged,
  OnUnavailable,
  QueryOrder,
} from './definitions/index-reader.ts'
export type { BuiltInKey, KeyOptions } from './definitions/key-functions.ts'
export { nearKeyOf, type PlacingProperty } from './keys/near-property.ts'
export { placeOfNear, type Near, type PlaceFunctions } from './keys/near-key.ts'
export { bucketOfRow, isNearRow, shardOfRow, shardsOfRow } from './keys/shard-of-row.ts'
