import { msgpackZlibCodec } from '@looseleaf/codec'
import type { Bag, Codec } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { expect, test } from 'vitest'
import { DataStore } from '../../data-store.ts'
import { MAX_BATCH_BYTES } from './batch-writer.ts'

const bySeat = defineIndex('by_seat', { properties: { seat: 'string' }, shardOn: 'seat', unique: true })

/** A codec whose bodies have the number of bytes that a bag asks for. */
function sizingCodec(): Codec {
  const codec = msgpackZlibCodec()
  const encode = (bag: Bag): Uint8Array =>
    typeof bag['bytes'] === 'number' ? Buffer.alloc(bag['bytes']) : codec.encode(bag)
  return { ...codec, encode }
}

test('a batch has at most 64 MiB of bodies, and writes nothing with more', async () => {
  const codec = sizingCodec()
  const store = await DataStore.open({ shards: memoryShards(1), indexes: [bySeat], codec, migrate: true })
  const { id } = await store.insert({ n: 1 })
  const write = (bytes: number): Promise<unknown> => {
    const [a, b] = [store.newId({ near: id }), store.newId({ near: id })]
    const insert = { seat: '1', bytes: MAX_BATCH_BYTES / 2 }
    // Keys are compared once the sizes have passed.
    return store.batch([{ insert, id: a }, { insert: { seat: '1', bytes }, id: b }, { delete: id }])
  }
  await expect(write(MAX_BATCH_BYTES / 2)).rejects.toMatchObject({ code: 'DUPLICATE_KEY', item: 1 })
  await expect(write(MAX_BATCH_BYTES / 2 + 1)).rejects.toMatchObject({
    code: 'BODY_TOO_LARGE',
    message: `The bodies of a batch may have ${MAX_BATCH_BYTES} bytes together; these have ${MAX_BATCH_BYTES + 1}. Nothing was written.`,
  })
  expect(await store.get(id)).toEqual({ id, n: 1 })
  await store.close()
})
