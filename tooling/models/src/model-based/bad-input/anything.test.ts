import { inspect } from 'node:util'
import { tunedCheckIndex } from '@looseleaf/cleaner/internal'
import { envelopeCodec, jsonCodec, msgpackZlibCodec } from '@looseleaf/codec'
import { checkBag, formatId, isId, isLooseleafError, metaOf, parseId } from '@looseleaf/core'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { definitionFromData } from '@looseleaf/index-engine/internal'
import { bucketOfId, bucketRouter, evenBuckets, moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import fc from 'fast-check'
import { shardsFrom } from 'looseleaf'
import { expect, test } from 'vitest'
import { assertReplayable } from '../replay.ts'
import { propertySettings, testTimeout } from '../settings.ts'
import { anyArguments } from './anything.ts'
import { createFixture, indexes, MARKER, type Fixture } from './refusals.ts'

type Call = (given: readonly unknown[], on: Fixture) => unknown
const untyped =
  (call: unknown): Call =>
  (given) =>
    (call as (...all: readonly unknown[]) => unknown)(...given)

/** Calls whose errors must not contain any part of their arguments. */
const discreet: Readonly<Record<string, Call>> = {
  put: (given, { store }) => store.put(...given),
  insert: (given, { store }) => store.insert(...given),
  update: (given, { store }) => store.update(...given),
  'update of an entity': ([change, options], { store, id }) => store.update(id, () => change, options),
  'putMany of anything': (given, { store }) => store.putMany(...given),
  'putMany of a list': async (given, { store }) => {
    for (const result of (await store.putMany(given, { fates: true })) as {
      ok: boolean
      error?: unknown
    }[]) {
      if (!result.ok) throw result.error
    }
  },
  delete: (given, { store }) => store.delete(...given),
  get: (given, { store }) => store.get(...given),
  getMany: (given, { store }) => store.getMany(...given),
  'getMany of a list': (given, { store }) => store.getMany(given),
  newId: (given, { store }) => store.newId(...given),
  cursor: ([cursor], { store }) => store.query(indexes[0], {}, { scatter: true, cursor }),
  parseId: untyped(parseId),
  formatId: untyped(formatId),
  isId: untyped(isId),
  'msgpack encode': untyped(msgpackZlibCodec().encode),
  'JSON encode': untyped(jsonCodec().encode),
}

const others: Readonly<Record<string, Call>> = {
  query: (given, { store }) => store.query(...given),
  'query of an index': ([where, options], { store }) => store.query(indexes[0], where, options),
  'query with scatter': ([where], { store }) => store.query(indexes[1], where, { scatter: true }),
  getAll: (given, { store }) => store.getAll(...given),
  count: (given, { store }) => store.count(...given),
  'count of an index': ([where, options], { store }) => store.count(indexes[2], where, options),
  scan: async (given, { store }) => Array.fromAsync(store.scan(...given) as AsyncIterable<unknown>),
  addIndex: (given, { store }) => store.addIndex(...given),
  dropIndex: ([which, options], { store }) =>
    // Leaves the indexes that are checked at the end.
    indexes.some((index) => index === which || index.name === which)
      ? undefined
      : store.dropIndex(which, options),
  indexes: (given, { store }) => store.indexes(...given),
  status: (given, { store }) => store.status(...given),
  open: async (given) => {
    const store = await (DataStore.open as unknown as (options: unknown) => Promise<DataStore>)(given[0])
    await store.close()
  },
  checkBag: untyped(checkBag),
  metaOf: untyped(metaOf),
  defineIndex: untyped(defineIndex),
  'defineIndex of options': ([properties, shardOn, onMisfit]) =>
    (defineIndex as unknown as (name: string, options: unknown) => unknown)('x', {
      properties,
      shardOn,
      onMisfit,
    }),
  definitionFromData: untyped(definitionFromData),
  'definitionFromData of properties': ([properties, shardOn]) =>
    definitionFromData({ ...indexes[0], properties, shardOn } as never),
  bucketRouter: untyped(bucketRouter),
  'bucketRouter of a map': ([buckets, time]) =>
    bucketRouter({ shards: 2, ...(typeof buckets !== 'function' && { buckets }), time } as never),
  moduloRouter: untyped(moduloRouter),
  evenBuckets: untyped(evenBuckets),
  bucketOfId: untyped(bucketOfId),
  shardOfId: untyped(bucketRouter({ shards: 3 }).shardOfId),
  shardOfKey: untyped(moduloRouter({ shards: 3 }).shardOfKey),
  'newId near': untyped(bucketRouter({ shards: 3 }).newId),
  'options of a codec': ([maxBodyBytes, compression]) =>
    envelopeCodec({ maxBodyBytes, compression } as never),
  'a damaged body': ([bytes]) =>
    msgpackZlibCodec().decode(bytes instanceof Uint8Array ? bytes : new Uint8Array(20)),
  memoryShards: untyped(memoryShards),
  mysqlShards: ([shards, options]) => (mysqlShards as (...all: unknown[]) => unknown)(shards, options),
  'mysqlShards of one': ([shard]) => (mysqlShards as (...all: unknown[]) => unknown)([shard]),
  shardsFrom: ([text]) => (shardsFrom as (text: unknown) => unknown)(text),
}

test(
  'every call with any arguments succeeds or names the mistake, and writes all or nothing',
  async () => {
    const fixture = await createFixture()
    const all = { ...discreet, ...others }
    const property = fc.asyncProperty(
      fc.constantFrom(...Object.keys(all)),
      anyArguments,
      async (name, given) => {
        try {
          await all[name]!(given, fixture)
        } catch (error) {
          if (!isLooseleafError(error)) throw new Error(`${name} threw ${inspect(error)}`, { cause: error })
          if (name in discreet) expect(inspect(error, { depth: 8 })).not.toContain(MARKER)
        }
      },
    )
    await assertReplayable(property, propertySettings(4_000), 'src/model-based/bad-input/anything.test.ts')

    await fixture.typed.settled()
    for (const { name } of indexes) {
      const { missing, dangling, misplaced } = await tunedCheckIndex(fixture.typed, name, { settleMs: 0 })
      expect({ name, missing, dangling, misplaced }).toEqual({ name, missing: 0, dangling: 0, misplaced: 0 })
    }
    await fixture.typed.close()
  },
  testTimeout(),
)
