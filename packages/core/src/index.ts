export type { Randomness } from './platform/randomness.ts'
export {
  errorCodes,
  isLooseleafError,
  LooseleafError,
  type DuplicateKeyError,
  type ErrorCode,
  type SchemaIssue,
  type SomeFailedError,
} from './errors/errors.ts'
export type { Fate } from './errors/fate.ts'

export type { Time } from './tools/time.ts'

export type { Storable } from './entities/bag-type.ts'
export type { Bag, PropertyValue } from './entities/bag.ts'
export { checkBag, copyBag } from './entities/copy-bag.ts'
export { formatId, isId, parseId, type EntityId } from './entities/entity-id.ts'
export { metaOf, type Entity, type EntityMeta } from './entities/entity.ts'

export type { BulkOptions, CallOptions } from './ports/call.ts'
export type { IndexDefinitionData } from './ports/catalog-table.ts'
export type { Codec, StoreCodec } from './ports/codec.ts'
export type { Driver, DriverFactory, Shard } from './ports/driver.ts'
export type { BegunCall, EndedCall, Observer, StoreEvent } from './ports/observer.ts'
export type { Router } from './ports/router.ts'
export type { SharedCache, SharedCacheFactory } from './ports/shared-cache.ts'
export type { SentStatement } from './ports/statement-listener.ts'

export { tableKind } from './tables/table-kind.ts'
