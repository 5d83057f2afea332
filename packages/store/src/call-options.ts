import type { BulkOptions, CallOptions, SharedCacheFactory } from '@looseleaf/core'
import {
  badOption,
  badArgument,
  checkOptions,
  hasMethods,
  isRecord,
  oneOf,
  optionKinds,
  wholeNumber,
  type OptionKind,
  type OptionKinds,
  type ReplicaReadOptions,
} from '@looseleaf/core/internal'
import type { QueryOptions } from '@looseleaf/index-engine'
import type { GetAllOptions } from '@looseleaf/index-engine/internal'
import type { PolicyChange } from './catalog/policies.ts'
import { MIN_SAMPLE, type TrainOptions } from './catalog/train-dictionary.ts'
import type { CountOptions, QueryManyOptions } from './reading/queries/counts.ts'
import type { AddShardOptions } from './shards/add-shard.ts'
import type { RemoveShardOptions } from './shards/remove-shard.ts'
import type { ListShardsOptions } from './shards/list-shards.ts'
import type { ExplainOptions } from './reading/inspection/explain.ts'
import type { QueryIdsOptions } from './reading/queries/id-page.ts'
import type { BatchOptions } from './writing/batch/batch-item.ts'
import type { CacheOptions } from './reading/freshness/entity-cache.ts'
import type { ChangesOptions } from './reading/changes/changes.ts'
import type { ListOptions } from './reading/queries/list-page.ts'
import { tryCodec } from './opening/try-codec.ts'
import { isSessionToken } from './reading/freshness/session-tokens.ts'
import type {
  WriteOptions,
  DataStoreOptions,
  ExistsOptions,
  GetManyOptions,
  GetOptions,
  InsertOptions,
  NewIdOptions,
  PutOptions,
  ScanOptions,
} from './types.ts'

interface OptionsOf {
  readonly open: OptionKinds<DataStoreOptions>
  readonly policies: OptionKinds<PolicyChange>
  readonly train: OptionKinds<TrainOptions>
  readonly newId: OptionKinds<NewIdOptions>
  readonly put: OptionKinds<PutOptions>
  readonly insert: OptionKinds<InsertOptions>
  readonly change: OptionKinds<WriteOptions>
  readonly call: OptionKinds<CallOptions>
  readonly addShard: OptionKinds<AddShardOptions>
  readonly removeShard: OptionKinds<RemoveShardOptions>
  readonly listShards: OptionKinds<ListShardsOptions>
  readonly bulk: OptionKinds<BulkOptions>
  readonly exists: OptionKinds<ExistsOptions>
  readonly get: OptionKinds<GetOptions>
  readonly getMany: OptionKinds<GetManyOptions>
  readonly scan: OptionKinds<ScanOptions>
  readonly batch: OptionKinds<BatchOptions>
  readonly changes: OptionKinds<ChangesOptions>
  readonly query: OptionKinds<QueryOptions>
  readonly queryMany: OptionKinds<QueryManyOptions>
  readonly queryIds: OptionKinds<QueryIdsOptions>
  readonly list: OptionKinds<ListOptions>
  readonly getAll: OptionKinds<GetAllOptions>
  readonly count: OptionKinds<CountOptions>
  readonly explain: OptionKinds<ExplainOptions>
}

const { signal, flag, function: callback, array, milliseconds, count, elsewhere } = optionKinds

const damaged: OptionKind = {
  expected: "'fail', 'skip' or a function",
  fits: (value) => value === 'fail' || value === 'skip' || typeof value === 'function',
}
const unavailable: OptionKind = oneOf('fail', 'skip')
const from: OptionKind = {
  expected:
    "'beginning', 'now' or the cursor of a change (leave the option out to begin now; a first run that has no cursor begins with 'beginning')",
  refusesUndefined: true,
  fits: (value) => typeof value === 'string',
}
const pollMs: OptionKind = {
  expected: 'a number of milliseconds, 10 or more',
  fits: (value) => Number.isFinite(value) && (value as number) >= 10,
}
const kinds: OptionKind = {
  expected: 'one or more names of kinds',
  fits: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((name) => typeof name === 'string' && name !== ''),
}
const version: OptionKind = {
  expected: 'a version, as `put` answers it, or 0 (leave the option out to write in any case)',
  refusesUndefined: true,
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
}
const shards: OptionKind = {
  expected: 'what mysqlShards(…), sqliteShards(…) or memoryShards(…) gives',
  fits: (value) => hasMethods(value, ['connect']) && Number.isInteger(value['shardCount']),
}
const router: OptionKind = {
  expected:
    'a router, such as bucketRouter(…) gives: an object with shardCount, fingerprint, shardOfId, shardOfKey and newId',
  fits: (value) =>
    hasMethods(value, ['shardOfId', 'shardOfKey', 'newId']) &&
    typeof value['fingerprint'] === 'string' &&
    Number.isInteger(value['shardCount']),
}
const codec: OptionKind = {
  expected: 'a codec, such as msgpackZlibCodec() gives: an object with name, encode and decode',
  fits: (value) => hasMethods(value, ['encode', 'decode']) && typeof value['name'] === 'string',
}
/** Methods of an observer. An observer with none of them, such as one with misspelt names, is rejected. */
const OBSERVER_METHODS = ['callBegan', 'callEnded', 'statementSent', 'happened']
const observer: OptionKind = {
  expected: `an object with at least one of ${OBSERVER_METHODS.join(', ')}, each a function`,
  fits: (value) => {
    const given = isRecord(value) ? OBSERVER_METHODS.filter((name) => value[name] !== undefined) : []
    return given.length > 0 && hasMethods(value, given)
  },
}
const time: OptionKind = {
  expected: 'an object with now and sleep',
  fits: (value) => hasMethods(value, ['now', 'sleep']),
}
const random: OptionKind = {
  expected: 'an object with next and uuid',
  fits: (value) => hasMethods(value, ['next', 'uuid']),
}

/** Ten minutes. Rows of entities that have moved are kept in memory for about `queryTimeMs`. */
const MAX_QUERY_TIME_MS = 600_000

/** An hour: longer than any statement, lease or round of a follower takes. */
const LEAST_KEEP_TOMBSTONES_MS = 3_600_000

const policies: OptionKinds<PolicyChange> = {
  deleteDelayMs: milliseconds,
  onIndexFailure: oneOf('fail', 'defer'),
  keepTombstonesMs: {
    expected: `a number of milliseconds, ${LEAST_KEEP_TOMBSTONES_MS} (an hour) or more`,
    fits: (value) => Number.isFinite(value) && (value as number) >= LEAST_KEEP_TOMBSTONES_MS,
  },
}

const replica: OptionKinds<ReplicaReadOptions> = {
  from: oneOf('primary', 'replica'),
  maxStalenessMs: milliseconds,
  after: { expected: 'the token of a write or what `sessionToken` has given, whole', fits: isSessionToken },
}
const rows: Omit<OptionKinds<GetAllOptions>, 'onDamaged' | keyof ReplicaReadOptions> = {
  order: elsewhere,
  scatter: elsewhere,
  signal,
}
const selection: OptionKinds<Omit<GetAllOptions, 'onDamaged'>> = { ...rows, ...replica }
const queryIds: OptionKinds<QueryIdsOptions> = {
  ...selection,
  limit: elsewhere,
  cursor: elsewhere,
  onUnavailable: unavailable,
}
const query: OptionKinds<QueryOptions> = { ...queryIds, onDamaged: damaged }

/** The expected options of every call. */
export const optionsOf: OptionsOf = {
  open: {
    shards,
    indexes: array,
    router,
    codec,
    cache: elsewhere,
    migrate: flag,
    acceptEmptyShards: flag,
    writeOrder: oneOf('index-first', 'entity-first'),
    deleteDelayMs: policies.deleteDelayMs,
    onIndexFailure: policies.onIndexFailure,
    queryTimeMs: {
      expected: `a whole number of milliseconds from 1 to ${MAX_QUERY_TIME_MS}`,
      fits: wholeNumber(1, MAX_QUERY_TIME_MS).fits,
    },
    writeTimeoutMs: {
      expected: 'a number of milliseconds above 0',
      fits: (value) => Number.isFinite(value) && (value as number) > 0,
    },
    observer,
    slowCallMs: milliseconds,
    onSlowCall: callback,
    onWarning: callback,
    time,
    random,
  },
  policies,
  train: { sample: wholeNumber(MIN_SAMPLE, 100_000), bytes: wholeNumber(256, 32_768), signal },
  newId: { near: elsewhere },
  put: { id: elsewhere, near: elsewhere, ifVersion: version, signal },
  insert: { id: elsewhere, near: elsewhere, signal },
  batch: { near: elsewhere, signal },
  change: { ifVersion: version, signal },
  call: { signal },
  addShard: { signal, dryRun: flag },
  removeShard: { signal, dryRun: flag },
  listShards: { signal, sizes: flag },
  bulk: { fates: flag, signal },
  exists: { ...replica, signal },
  get: { ...replica, fresh: flag, signal },
  getMany: { ...replica, fresh: flag, onDamaged: damaged, onUnavailable: unavailable, signal },
  scan: { onDamaged: damaged, signal },
  changes: { from, pollMs, onRetry: callback, onDamaged: damaged, kinds, signal },
  query,
  queryMany: {
    ...selection,
    limit: elsewhere,
    onDamaged: damaged,
    onUnavailable: unavailable,
    count: flag,
  },
  queryIds,
  list: { ...query, verify: flag },
  getAll: { ...selection, onDamaged: damaged },
  explain: { ...rows, limit: elsewhere },
  count: {
    ...replica,
    scatter: elsewhere,
    exact: flag,
    onDamaged: damaged,
    onUnavailable: unavailable,
    signal,
  },
}

/** Throws `BAD_OPTION` for options that `open` does not take. A policy that only `setPolicies` changes has a message of its own. */
export function checkOpen(options: DataStoreOptions): void {
  if (isRecord(options) && options['keepTombstonesMs'] !== undefined)
    throw badOption(
      'DataStore.open has no option keepTombstonesMs: it is a policy of the store. Set it with `store.setPolicies({ keepTombstonesMs })`.',
    )
  checkOptions('DataStore.open', options, optionsOf.open)
  if (options.shards === undefined) throw badArgument('DataStore.open', '{ shards }', undefined)
  if (options.codec !== undefined) tryCodec(options.codec)
  if (options.cache !== undefined) checkCache(options.cache)
}

/** Throws `BAD_OPTION` unless the value is a shared cache, or has both options of a cache in memory. */
function checkCache(cache: CacheOptions | SharedCacheFactory): void {
  if (hasMethods(cache, ['connect'])) return
  const known: OptionKinds<CacheOptions> = { maxBytes: count, maxStalenessMs: milliseconds }
  checkOptions('The cache of DataStore.open', cache as CacheOptions, known)
  for (const name of Object.keys(known) as (keyof CacheOptions)[])
    if ((cache as CacheOptions)[name] === undefined)
      throw badArgument('The cache of DataStore.open', `${name}, ${known[name].expected}`, undefined)
}
