/*
 * Exports for sibling packages. Programs use the main entry: a minor release may change or remove any name here.
 */
export { arrayOf } from './platform/array-of.ts'
export { asBuffer } from './platform/as-buffer.ts'
export { countIn, countsIn, parseObject, toObject, textIn } from './platform/json-object.ts'
export { messageOf, toError } from './errors/thrown.ts'
export { isBytes, isDate, isError, isPlainObject, isPromise } from './platform/kind-of-object.ts'
export { bytesText, counted, decimal, durationText, grouped } from './platform/number-text.ts'
export { platformTime } from './platform/platform-time.ts'
export {
  badOption,
  describeKind,
  isOfShard,
  isOutage,
  isUndecodable,
  isUndone,
  type LooseleafErrorOptions,
} from './errors/errors.ts'
export { valuesOf } from './errors/values-of.ts'
export { withCaller } from './errors/with-caller.ts'
export { backgroundBackOff, backOffMs, type BackOff } from './tools/back-off.ts'
export { backgroundLoop } from './tools/background-loop.ts'
export { guarded, guardedMethod, onRejected, takeCallbacks, withCallbacks } from './tools/callbacks.ts'
export { checkNode } from './tools/check-node.ts'
export {
  badArgument,
  checkOptions,
  describeArgument,
  hasMethods,
  isRecord,
  millisecondsOfLease,
  noOptions,
  oneOf,
  optionKinds,
  requireKind,
  wholeNumber,
  type OptionKind,
  type OptionKinds,
} from './tools/check-options.ts'
export {
  bucketsIn,
  formatRanges,
  parseRanges,
  rangesInclude,
  unionOfRanges,
  withoutRanges,
  type BucketRange,
} from './tools/bucket-ranges.ts'
export { chunks, chunksBySize } from './tools/chunks.ts'
export { createGate, type Gate } from './tools/gate.ts'
export { getOrInsert } from './tools/get-or-insert.ts'
export { createSlots } from './tools/slots.ts'
export type { Inlined } from './tools/inlined.ts'
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
} from './tools/time.ts'
export { untilSignal } from './tools/until-signal.ts'
export { MAX_DEPTH, MAX_VALUES } from './entities/bag.ts'
export { copyEntity, type EntityCopy } from './entities/copy-bag.ts'
export { distinctIds, ID_BYTES, idBytes, idKey, lowerId } from './entities/entity-id.ts'
export { setMeta } from './entities/entity.ts'
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
export type {
  CatalogChangeOptions,
  CatalogEntry,
  CatalogTable,
  ExactStep,
  HeldState,
  IndexedProperty,
  IndexPredicate,
  IndexState,
  PredicateValue,
  Requirement,
  ShardCatalog,
  StorePolicies,
} from './ports/catalog-table.ts'
export type { LayoutMove, LayoutShard, StoreLayout } from './ports/layout.ts'
export type {
  ArrivedBuckets,
  AwayBuckets,
  ComingBuckets,
  CopiedEntity,
  LeavingBuckets,
  ShardServes,
} from './ports/shard-serves.ts'
export type { ClaimHolder, ClaimTable } from './ports/claim-table.ts'
export type { CodecEntry, CodecEntryTable, StoredCodecEntry } from './ports/codec-entry-table.ts'
export type {
  ConnectionState,
  ConnectOptions,
  ForeignTable,
  RunningStatement,
  ShardSizes,
  TableCheck,
} from './ports/driver.ts'
export type {
  BatchOptions,
  BatchOutcome,
  BatchRow,
  BoundedRow,
  ChangesRange,
  CopiedRow,
  EntityChecksum,
  EntityHold,
  EntityInsert,
  EntityPageRow,
  EntityReplace,
  EntitySwap,
  FencedRemoveOptions,
  EntityRow,
  EntityTable,
  EntityCounts,
  FloorState,
  LocalRows,
  HandedClaim,
  KeptCopy,
  PurgeBounds,
  PageOptions,
  Partitions,
  ReceiveOptions,
  RowsOfTable,
  UpdatedPlace,
  EpochWriteOptions,
} from './ports/entity-table.ts'
export {
  STRING_KEY_BYTES,
  STRING_PREFIX_BYTES,
  type ColumnType,
  type EntityScan,
  type IndexRow,
  type IndexRowRemoval,
  type IndexScan,
  type IndexTable,
  type IndexTableSpec,
  type JoinedRow,
  type Key,
  type KeyRange,
  type KeyValue,
  type VersionedRow,
} from './ports/index-table.ts'
export type { CleanerCounts, CleanerEvent, ConsumerEvent, MoverEvent, StoreEvents } from './ports/observer.ts'
export type { PendingPage, PendingRow, PendingTable } from './ports/pending-table.ts'
export type { SaveAllOptions, TaskState, TaskTable } from './ports/task-table.ts'
export { compareKeys, compareKeyValues, directionsOf, type Direction } from './tables/key-order.ts'
export { interceptShard, wrapShard, type ShardCall, type ShardParts } from './tables/wrap-shard.ts'
export { systemRandomness } from './platform/randomness.ts'
export type { FateOptions, ReplicaReadOptions, ValueOptions } from './ports/call.ts'
export type { BodyDescription, CodecEntries } from './ports/codec.ts'
export type { RouterBuckets } from './ports/router.ts'
export type { SharedCacheAnswer } from './ports/shared-cache.ts'
export { MAX_SNAPSHOTS, type ShardSnapshot, type SnapshotOptions } from './ports/shard-snapshot.ts'
export type { StatementListener } from './ports/statement-listener.ts'
