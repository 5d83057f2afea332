import type { CallOptions } from '@looseleaf/core'
import type { GetAllOptions, QueryOptions } from '@looseleaf/index-engine'
import type { OptionKinds } from './check-arguments.ts'
import type { CountOptions } from './index-queries.ts'
import type {
  ChangeOptions,
  DataStoreOptions,
  GetManyOptions,
  InsertOptions,
  NewIdOptions,
  PutOptions,
  ScanOptions,
} from './types.ts'

interface OptionsOf {
  readonly open: OptionKinds<DataStoreOptions>
  readonly newId: OptionKinds<NewIdOptions>
  readonly put: OptionKinds<PutOptions>
  readonly insert: OptionKinds<InsertOptions>
  readonly change: OptionKinds<ChangeOptions>
  readonly call: OptionKinds<CallOptions>
  readonly getMany: OptionKinds<GetManyOptions>
  readonly scan: OptionKinds<ScanOptions>
  readonly query: OptionKinds<QueryOptions>
  readonly getAll: OptionKinds<GetAllOptions>
  readonly count: OptionKinds<CountOptions>
}

/** What the options of every call have to be. */
export const optionsOf: OptionsOf = {
  open: {
    shards: 'shards',
    indexes: 'array',
    router: 'router',
    codec: 'codec',
    migrate: 'flag',
    acceptEmptyShards: 'flag',
    writeOrder: 'elsewhere',
    onIndexFailure: 'elsewhere',
    deleteDelayMs: 'elsewhere',
    queryTimeMs: 'elsewhere',
    writeTimeoutMs: 'elsewhere',
    onWarning: 'function',
    time: 'time',
  },
  newId: { near: 'elsewhere' },
  put: { id: 'elsewhere', ifVersion: 'version', signal: 'signal' },
  insert: { id: 'elsewhere', signal: 'signal' },
  change: { ifVersion: 'version', signal: 'signal' },
  call: { signal: 'signal' },
  getMany: { onDamaged: 'damaged', signal: 'signal' },
  scan: { onDamaged: 'damaged', signal: 'signal' },
  query: {
    order: 'elsewhere',
    scatter: 'elsewhere',
    limit: 'elsewhere',
    cursor: 'elsewhere',
    onDamaged: 'damaged',
    signal: 'signal',
  },
  getAll: {
    order: 'elsewhere',
    scatter: 'elsewhere',
    onDamaged: 'damaged',
    signal: 'signal',
  },
  count: { scatter: 'elsewhere', exact: 'flag', onDamaged: 'damaged', signal: 'signal' },
}
