export { arrayOf } from './platform/array-of.ts'
export { countIn, parseObject, toObject } from './platform/json-object.ts'
export { isBytes, isDate, isError, isPlainObject, isPromise } from './platform/kind-of-object.ts'
export { platformTime, type PlatformTime } from './platform/platform-time.ts'
export { systemRandomness, type Randomness } from './platform/randomness.ts'

export {
  describeKind,
  errorCodes,
  isLooseleafError,
  isOutage,
  isUndone,
  LooseleafError,
  type DuplicateKeyError,
  type ErrorCode,
  type LooseleafErrorOptions,
  type SchemaIssue,
  type SomeFailedError,
} from './errors/errors.ts'
export type { Fate } from './errors/fate.ts'
export { valuesOf } from './errors/values-of.ts'

export { backgroundLoop, retryAfter, type BackgroundLoopOptions } from './tools/background-loop.ts'
export {
  guarded,
  guardedMethod,
  onRejected,
  takeCallbacks,
  withCallbacks,
  type TakenCallbacks,
} from './tools/callbacks.ts'
export { checkNode } from './tools/check-node.ts'
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
} from './tools/check-options.ts'
export { createGate, type Gate } from './tools/gate.ts'
export { createLane, type Lane, type LaneOptions, type WorkFor } from './tools/lane.ts'
export { MAX_LEASE_MS } from './tools/lease.ts'
export { shorten } from './tools/shorten.ts'
export { summarise, type StatementSummary } from './tools/statement-summary.ts'
export {
  abortedError,
  elapsedBy,
  inBackground,
  systemTime,
  throwIfAborted,
  untilAborted,
  type Time,
} from './tools/time.ts'

export type { Storable } from './entities/bag-type.ts'
export { MAX_DEPTH, MAX_VALUES, type Bag, type PropertyValue } from './entities/bag.ts'
export { checkBag, copyBag, copyEntity, type EntityCopy } from './entities/copy-bag.ts'
export {
  distinctIds,
  formatId,
  ID_BYTES,
  idBytes,
  idKey,
  isId,
  parseId,
  type EntityId,
} from './entities/entity-id.ts'
export { metaOf, setMeta, type Entity, type EntityMeta } from './entities/entity.ts'
export { KIND_PROPERTY } from './entities/kind-property.ts'
export { formatPath } from './entities/property-path.ts'
export {
  badClock,
  isVersion,
  MAX_CLOCK_MICROS,
  MAX_VERSION,
  requireVersion,
} from './entities/stored-version.ts'
export { createVersionClock, type VersionClock } from './entities/version-clock.ts'

export type { BulkOptions, CallOptions, FateOptions, ReplicaReadOptions, ValueOptions } from './ports/call.ts'
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
export type { SharedCache, SharedCacheAnswer, SharedCacheFactory } from './ports/shared-cache.ts'
export type { SentStatement, StatementListener } from './ports/statement-listener.ts'
export type { TaskState, TaskTable } from './ports/task-table.ts'

export { compareKeys, compareKeyValues, directionsOf, type Direction } from './tables/key-order.ts'
export { tableKind } from './tables/table-kind.ts'
