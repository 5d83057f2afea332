import type { Codec, Router } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moduloRouter } from '@looseleaf/router'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const jsonCodec: Codec = {
  name: 'json',
  encode: (bag) => new TextEncoder().encode(JSON.stringify(bag)),
  decode: (body) => JSON.parse(new TextDecoder().decode(body)),
}

test('a codec that gives an empty bag back is taken', async () => {
  const store = await DataStore.open({ shards: memoryShards(1), codec: jsonCodec, migrate: true })
  onTestFinished(() => store.close())
  const { id } = await store.put({ n: 1 })
  expect(await store.get(id)).toMatchObject({ n: 1 })
})

test.each([
  [
    { encode: () => new Uint8Array() },
    'encode has to return a Uint8Array with at least one byte; for an empty bag it returned none.',
  ],
  [
    { encode: () => '{}' },
    'encode has to return a Uint8Array with at least one byte; for an empty bag it returned a string of 2 characters.',
  ],
  [
    { encode: () => undefined },
    'encode has to return a Uint8Array with at least one byte; for an empty bag it returned nothing.',
  ],
  [
    { decode: () => undefined },
    'decode has to return the bag that was encoded; for an empty bag it returned nothing.',
  ],
  [
    { decode: async () => ({}) },
    'decode has to return the bag that was encoded; for an empty bag it returned an object of class Promise.',
  ],
  [
    { decode: () => ({ n: 1 }) },
    'decode has to return the bag that was encoded; for an empty bag it returned an object with properties.',
  ],
])(
  'a codec that does not give an empty bag back is refused before the store is opened: %o',
  async (part, message) => {
    const codec = { ...jsonCodec, ...part } as Codec
    await expect(DataStore.open({ shards: memoryShards(1), codec, migrate: true })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `The codec's ${message}`,
    })
  },
)

test.each(['encode', 'decode'])('a codec whose %s throws for an empty bag is taken', async (method) => {
  const codec = {
    ...jsonCodec,
    [method](value: never): unknown {
      if (Object.keys(jsonCodec.decode(method === 'encode' ? jsonCodec.encode(value) : value)).length === 0)
        throw new RangeError('A bag needs a property.')
      return jsonCodec[method as 'encode'](value)
    },
  }
  const store = await DataStore.open({ shards: memoryShards(1), codec, migrate: true })
  onTestFinished(() => store.close())
  expect(await store.get((await store.put({ n: 1 })).id)).toMatchObject({ n: 1 })
})

test.each([
  ['codec', { encode: jsonCodec.encode, decode: jsonCodec.decode }, 'an object with name, encode and decode'],
  [
    'router',
    { ...moduloRouter({ shards: 1 }), newId: undefined },
    'an object with shardCount, fingerprint, shardOfId, shardOfKey and newId',
  ],
])('a %s that lacks a member is refused with the names of all', async (name, value, members) => {
  await expect(
    DataStore.open({ shards: memoryShards(1), [name]: value as never, migrate: true }),
  ).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining(members) as string })
})

test.each([7, -1, 0.5, undefined])(
  'a write that a router without buckets sends to the shard %s is refused',
  async (shard) => {
    const router = { ...moduloRouter({ shards: 2 }), shardOfId: () => shard } as Router
    const store = await DataStore.open({ shards: memoryShards(2), router, migrate: true })
    onTestFinished(() => store.close())
    await expect(store.put({ n: 1 })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `The router's shardOfId has to return the number of a shard, from 0 to 1; it returned ${shard ?? 'nothing'}.`,
    })
  },
)
