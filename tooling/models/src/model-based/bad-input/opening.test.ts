import { msgpackZlibCodec } from '@looseleaf/codec'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketRouter, moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { byAge, MARKER, refuses, type Case } from './refusals.ts'

const open = (options?: unknown): Promise<unknown> =>
  (DataStore.open as (options: unknown) => Promise<unknown>)(options)
const shards = memoryShards(2)
const router = bucketRouter({ shards: 2 })
const codec = msgpackZlibCodec()

const cases: readonly (readonly [what: string, options: unknown, names: RegExp])[] = [
  ['nothing', undefined, /DataStore.open takes options as an object; got nothing/],
  ['null', null, /DataStore.open takes options as an object; got null/],
  ['a URL', `mysql://root:${MARKER}@localhost/feed`, /DataStore.open takes options.*a string/],
  ['the shards themselves', memoryShards(2), /DataStore.open has no option/],
  ['an array', [shards], /DataStore.open takes options.*an array/],
  ['a function', () => ({ shards }), /DataStore.open takes options.*a function/],
  ['no shards', {}, /DataStore.open takes \{ shards \}; got nothing/],
  ['shards of null', { shards: null }, /shards of DataStore.open.*null/],
  ['a number of shards', { shards: 2 }, /shards of DataStore.open.*got 2/],
  [
    'a URL for shards',
    { shards: `mysql://root:${MARKER}@localhost/feed` },
    /shards of DataStore.open.*a string/,
  ],
  [
    'URLs for shards',
    { shards: [`mysql://root:${MARKER}@localhost/feed`] },
    /shards of DataStore.open.*an array/,
  ],
  ['the function for shards', { shards: memoryShards }, /shards of DataStore.open.*a function/],
  ['shards without a count', { shards: { connect: shards.connect } }, /shards of DataStore.open.*an object/],
  ['shards without connect', { shards: { shardCount: 2 } }, /shards of DataStore.open.*an object/],
  ['a promise of shards', { shards: Promise.resolve(shards) }, /shards of DataStore.open.*class Promise/],
  ['an option that there is not', { shards, index: [byAge] }, /DataStore.open has no option "index"/],
  ['a misspelt migrate', { shards, migrates: true }, /DataStore.open has no option "migrates"/],
  ['one index for indexes', { shards, indexes: byAge }, /indexes of DataStore.open has to be an array/],
  ['indexes by name', { shards, indexes: { by_age: byAge } }, /indexes of DataStore.open.*an object/],
  ['indexes of null', { shards, indexes: null }, /indexes of DataStore.open.*null/],
  ['a Set of indexes', { shards, indexes: new Set([byAge]) }, /indexes of DataStore.open.*class Set/],
  ['a router of null', { shards, router: null }, /router of DataStore.open.*null/],
  ['the function for a router', { shards, router: bucketRouter }, /router of DataStore.open.*a function/],
  ['the options for a router', { shards, router: { shards: 2 } }, /router of DataStore.open.*an object/],
  ['half a router', { shards, router: { ...router, newId: undefined } }, /router of DataStore.open/],
  [
    'a router of three shards',
    { shards, router: bucketRouter({ shards: 3 }) },
    /[Rr]outer routes to 3 shards, but the store has 2/,
  ],
  [
    'a router of one shard',
    { shards, router: moduloRouter({ shards: 1 }) },
    /[Rr]outer routes to 1 shard, but the store has 2/,
  ],
  ['a codec by name', { shards, codec: 'json' }, /codec of DataStore.open.*a string/],
  ['the function for a codec', { shards, codec: msgpackZlibCodec }, /codec of DataStore.open.*a function/],
  ['a codec of null', { shards, codec: null }, /codec of DataStore.open.*null/],
  ['half a codec', { shards, codec: { ...codec, decode: undefined } }, /codec of DataStore.open/],
  ['JSON for a codec', { shards, codec: JSON }, /codec of DataStore.open/],
  ['a migrate of 1', { shards, migrate: 1 }, /migrate of DataStore.open.*true or false/],
  ['a migrate in words', { shards, migrate: 'yes' }, /migrate of DataStore.open.*a string/],
  ['a migrate of null', { shards, migrate: null }, /migrate of DataStore.open.*null/],
  [
    'a console for onWarning',
    { shards, onWarning: console },
    /onWarning of DataStore.open has to be a function/,
  ],
  ['an onWarning of false', { shards, onWarning: false }, /onWarning of DataStore.open/],
  ['an onWarning of null', { shards, onWarning: null }, /onWarning of DataStore.open/],
  ['the time of now', { shards, time: Date.now() }, /time of DataStore.open.*got \d+/],
  ['a time that cannot sleep', { shards, time: { now: Date.now } }, /time of DataStore.open.*an object/],
  ['a Date for the time', { shards, time: new Date() }, /time of DataStore.open.*a Date/],
  [
    'a writeOrder that there is not',
    { shards, writeOrder: 'index first' },
    /writeOrder of DataStore.open has to be/,
  ],
  ['a writeOrder of null', { shards, writeOrder: null }, /writeOrder of DataStore.open has to be/],
  [
    'an onIndexFailure that there is not',
    { shards, onIndexFailure: 'ignore' },
    /onIndexFailure of DataStore.open has to be/,
  ],
  [
    'an onIndexFailure of true',
    { shards, onIndexFailure: true },
    /onIndexFailure of DataStore.open has to be/,
  ],
  [
    'to defer with entity-first',
    { shards, writeOrder: 'entity-first', onIndexFailure: 'defer' },
    /'defer' goes with writeOrder/,
  ],
  ['a deleteDelayMs below 0', { shards, deleteDelayMs: -1 }, /deleteDelayMs of DataStore.open has to be/],
  [
    'a deleteDelayMs of NaN',
    { shards, deleteDelayMs: Number.NaN },
    /deleteDelayMs of DataStore.open has to be/,
  ],
  [
    'a deleteDelayMs in words',
    { shards, deleteDelayMs: '5 minutes' },
    /deleteDelayMs of DataStore.open has to be/,
  ],
  [
    'a deleteDelayMs without end',
    { shards, deleteDelayMs: Infinity },
    /deleteDelayMs of DataStore.open has to be/,
  ],
  ['a writeTimeoutMs of 0', { shards, writeTimeoutMs: 0 }, /writeTimeoutMs of DataStore.open has to be/],
  [
    'a writeTimeoutMs below 0',
    { shards, writeTimeoutMs: -30_000 },
    /writeTimeoutMs of DataStore.open has to be/,
  ],
  [
    'a writeTimeoutMs of NaN',
    { shards, writeTimeoutMs: Number.NaN },
    /writeTimeoutMs of DataStore.open has to be/,
  ],
  [
    'a writeTimeoutMs in words',
    { shards, writeTimeoutMs: '30s' },
    /writeTimeoutMs of DataStore.open has to be/,
  ],
  [
    'a writeTimeoutMs without end',
    { shards, writeTimeoutMs: Infinity },
    /writeTimeoutMs of DataStore.open has to be/,
  ],
]

refuses(
  'options of DataStore.open',
  cases.map(([what, options, names]): Case => [what, () => open(options), 'BAD_OPTION', names]),
)

refuses('shards that do not fit', [
  ['empty ones without migrate', () => open({ shards }), 'NOT_MIGRATED', /memory 0 has no Looseleaf tables/],
  [
    'another router than that of the store',
    (on) => open({ shards: keepOpen(on.typed.context.driver), router: moduloRouter({ shards: 2 }) }),
    'LAYOUT_MISMATCH',
    /memory 0.*made with the router buckets.*modulo/,
  ],
  [
    'one shard of the store twice',
    (on) => {
      const { driver } = on.typed.context
      return open({ shards: keepOpen({ ...driver, shards: [driver.shards[1]!, driver.shards[1]!] }) })
    },
    'LAYOUT_MISMATCH',
    /memory 1: it is shard 1 of its store, and so is memory 1/,
  ],
  [
    'some of the shards of the store',
    (on) =>
      open({
        shards: keepOpen({ ...on.typed.context.driver, shards: on.typed.context.driver.shards.slice(0, 1) }),
        migrate: true,
      }),
    'LAYOUT_MISMATCH',
    /its store has 2 shards, but the list has 1\. Missing: shard 1/,
  ],
  [
    'a new shard beside those of the store',
    async (on) => {
      const other = await memoryShards(1).connect()
      return open({
        shards: keepOpen({ ...other, shards: [...on.typed.context.driver.shards, ...other.shards] }),
        migrate: true,
      })
    },
    'LAYOUT_MISMATCH',
    /the store has 2 shards, but the list has 3, and it is empty/,
  ],
])

refuses(
  'a store that is closed',
  (
    [
      ['put', (store) => store.put({ age: 1 })],
      ['insert', (store) => store.insert({ age: 1 })],
      ['update', (store) => store.update('0192f0c1-7c1e-7abc-8def-0123456789ab', (bag) => bag)],
      ['delete', (store) => store.delete('0192f0c1-7c1e-7abc-8def-0123456789ab')],
      ['get', (store) => store.get('0192f0c1-7c1e-7abc-8def-0123456789ab')],
      ['getMany', (store) => store.getMany([])],
      ['query', (store) => store.query(byAge, {}, { scatter: true })],
      ['getAll', (store) => store.getAll(byAge, {}, { scatter: true })],
      ['count', (store) => store.count(byAge, {}, { scatter: true })],
      ['scan', async (store) => Array.fromAsync(store.scan())],
      ['addIndex', (store) => store.addIndex(byAge)],
      ['dropIndex', (store) => store.dropIndex('by_age')],
      ['indexes', (store) => store.indexes()],
      ['status', (store) => store.status()],
    ] satisfies readonly (readonly [string, (store: DataStore) => Promise<unknown>])[]
  ).map(([what, call]): Case => [
    what,
    async () => {
      const store = await DataStore.open({ shards: memoryShards(1), indexes: [byAge], migrate: true })
      await store.close()
      await store.close()
      return call(store)
    },
    'CLOSED',
    /store is closed/,
  ]),
)
