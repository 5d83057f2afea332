export { arrayOf } from './array-of.ts'
export { backgroundLoop, retryAfter, type BackgroundLoopOptions } from './background-loop.ts'
export { MAX_DEPTH, MAX_VALUES, type Bag, type PropertyValue } from './bag.ts'
export type { Storable } from './bag-type.ts'
export {
  guarded,
  guardedMethod,
  onRejected,
  takeCallbacks,
  withCallbacks,
  type TakenCallbacks,
} from './callbacks.ts'
export {
  badArgument,
  checkOptions,
  hasMethods,
  isRecord,
  millisecondsOfLease,
  noOptions,
  optionKinds,
  type OptionKind,
  type OptionKinds,
} from './check-options.ts'
export { checkNode } from './check-node.ts'
export { checkBag, copyBag, copyEntity, type EntityCopy } from './copy-bag.ts'
export { metaOf, setMeta, type Entity, type EntityMeta } from './entity.ts'
export { distinctIds, formatId, ID_BYTES, idBytes, idKey, isId, parseId, type EntityId } from './entity-id.ts'
export {
  describeKind,
  errorCodes,
  isLooseleafError,
  isOutage,
  isUndone,
  LooseleafError,
  type ErrorCode,
  type LooseleafErrorOptions,
  type SchemaIssue,
  type SomeFailedError,
} from './errors.ts'
export type { BulkOptions, Fate, FateOptions, ValueOptions } from './fate.ts'
export { valuesOf } from './values-of.ts'
export { countIn, parseObject, toObject } from './json-object.ts'
export { isBytes, isDate, isError, isPlainObject, isPromise } from './kind-of-object.ts'
export { KIND_PROPERTY } from './kind-property.ts'
export { compareKeys, compareKeyValues, directionsOf, type Direction } from './key-order.ts'
export { createGate, type Gate } from './gate.ts'
export { createLane, type Lane, type LaneOptions, type WorkFor } from './lane.ts'
export { MAX_LEASE_MS } from './lease.ts'
export type { CallOptions, ReplicaReadOptions } from './ports/call.ts'
export type { SharedCache, SharedCacheAnswer, SharedCacheFactory } from './ports/shared-cache.ts'
export type {
  CatalogEntry,
  CatalogTable,
  IndexDefinitionData,
  IndexPredicate,
  IndexedProperty,
  IndexState,
  PredicateValue,
  Requirement,
  StorePolicies,
  ShardCatalog,
} from './ports/catalog-table.ts'
export type { ClaimHolder, ClaimTable } from './ports/claim-table.ts'
export type { BodyDescription, Codec, CodecDefinitions, StoreCodec } from './ports/codec.ts'
export type { Definition, DefinitionTable, StoredDefinition } from './ports/definition-table.ts'
export type {
  ConnectionState,
  ConnectOptions,
  Driver,
  DriverFactory,
  Shard,
  RunningStatement,
  ShardSizes,
} from './ports/driver.ts'
export type {
  BoundedRow,
  EntityInsert,
  EntityPageRow,
  EntityReplace,
  EntityRow,
  EntityTable,
  EntityCounts,
  FloorState,
  PurgeBounds,
  PageOptions,
  Partitions,
  UpdatedPlace,
  WriteOptions,
} from './ports/entity-table.ts'
export {
  STRING_KEY_BYTES,
  STRING_PREFIX_BYTES,
  type ColumnType,
  type IndexRow,
  type IndexRowRemoval,
  type IndexScan,
  type IndexTable,
  type IndexTableSpec,
  type Key,
  type KeyRange,
  type KeyValue,
} from './ports/index-table.ts'
export type {
  BegunCall,
  CleanerCounts,
  CleanerEvent,
  ConsumerEvent,
  EndedCall,
  Observer,
  StoreEvent,
  StoreEvents,
} from './ports/observer.ts'
export type { PendingPage, PendingRow, PendingTable } from './ports/pending-table.ts'
export type { Router, RouterBuckets } from './ports/router.ts'
export type { SentStatement, StatementListener } from './ports/statement-listener.ts'
export type { TaskState, TaskTable } from './ports/task-table.ts'
export { platformTime, type PlatformTime } from './platform-time.ts'
export { formatPath } from './property-path.ts'
export { systemRandomness, type Randomness } from './randomness.ts'
export { summarise, type StatementSummary } from './statement-summary.ts'
export { badClock, isVersion, MAX_CLOCK_MICROS, MAX_VERSION, requireVersion } from './stored-version.ts'
export { tableKind } from './table-kind.ts'
export {
  abortedError,
  elapsedBy,
  inBackground,
  systemTime,
  throwIfAborted,
  untilAborted,
  type Time,
} from './time.ts'
export { createVersionClock, type VersionClock } from './version-clock.ts'
