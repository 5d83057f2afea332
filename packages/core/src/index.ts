export { systemRandomness, type Randomness } from './platform/randomness.ts'

export {
  errorCodes,
  isLooseleafError,
  LooseleafError,
  type DuplicateKeyError,
  type ErrorCode,
  type LooseleafErrorOptions,
  type SchemaIssue,
  type SomeFailedError,
} from './errors/errors.ts'
export type { Fate } from './errors/fate.ts'

export { createLane } from './tools/lane.ts'
export { systemTime, type Time } from './tools/time.ts'

export type { Storable } from './entities/bag-type.ts'
export type { Bag, PropertyValue } from './entities/bag.ts'
export { checkBag, copyBag } from './entities/copy-bag.ts'
export { formatId, isId, parseId, type EntityId } from './entities/entity-id.ts'
export { metaOf, type Entity, type EntityMeta } from './entities/entity.ts'

export type { BulkOptions, CallOptions, FateOptions, ReplicaReadOptions, ValueOptions } from './ports/call.ts'
export type {
  CatalogEntry,
  IndexDefinitionData,
  IndexPredicate,
  IndexedProperty,
  IndexState,
  PredicateValue,
  StorePolicies,
} from './ports/catalog-table.ts'
export type { BodyDescription, Codec, CodecDefinitions, StoreCodec } from './ports/codec.ts'
export type { ConnectionState, ConnectOptions, Driver, DriverFactory, Shard } from './ports/driver.ts'
export type { ColumnType } from './ports/index-table.ts'
export type { BegunCall, EndedCall, Observer, StoreEvent, StoreEvents } from './ports/observer.ts'
export type { Router, RouterBuckets } from './ports/router.ts'
export type { SharedCache, SharedCacheAnswer, SharedCacheFactory } from './ports/shared-cache.ts'
export type { SentStatement, StatementListener } from './ports/statement-listener.ts'

export { tableKind } from './tables/table-kind.ts'
