import { envelopeCodec, msgpackZlibCodec } from '@looseleaf/codec'
import { parseId, type Codec, type Driver, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

let driver: Driver

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  onTestFinished(() => driver.close())
})

const time: Time = { now: () => Date.now(), sleep: async () => {} }

type CodecOptions = Parameters<typeof envelopeCodec>[0]

async function open(options: CodecOptions = { dictionary: true }, codec?: Codec): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(driver),
    codec: codec ?? envelopeCodec(options),
    migrate: true,
    time,
  })
  onTestFinished(() => store.close())
  return store
}

const bagOf = (n: number): { title: string; link: string; n: number } => ({
  title: `Something new on page ${n}`,
  link: `https://example.com/entries/${n}`,
  n,
})

const otherOf = (n: number): { body: string; n: number } => ({
  body: `Quite another kind of thing than all of the others before it, number ${n}`,
  n,
})

async function bodyOf(store: DataStore, id: string): Promise<Uint8Array> {
  const bytes = parseId(id)
  const [row] = await driver.shards[store.context.router.shardOfId(bytes)]!.entities.read([bytes])
  return row!.body!
}

async function fill(store: DataStore, count: number): Promise<void> {
  await store.putMany(Array.from({ length: count }, (_, n) => bagOf(n)))
}

test('a trained dictionary is on every shard, compresses small bodies, and every process reads them', async () => {
  const store = await open()
  const bystander = await open({})
  await fill(store, 100)
  const before = await bodyOf(store, (await store.put(bagOf(500))).id)
  const { id, bytes, sample } = await store.trainDictionary({ bytes: 1024 })
  expect(sample).toBe(101)
  for (const { codecEntries } of driver.shards) {
    const rows = await codecEntries.all()
    expect(rows.map((row) => [row.id, row.kind, row.bytes.length])).toEqual([[id, 'dictionary', bytes]])
  }
  const written = (await store.put(bagOf(501))).id
  const after = await bodyOf(store, written)
  expect(after[1]).toBe(2)
  expect(after.length).toBeLessThan(before.length * 0.75)
  for (const reader of [store, bystander, await open({}), await open(undefined, msgpackZlibCodec())])
    expect(await reader.get(written)).toMatchObject(bagOf(501))
  // A store that opens now compresses with it, too. A store whose codec has no dictionaries does not.
  const [mine, other] = [await open(), await open({})]
  expect((await bodyOf(mine, (await mine.put(bagOf(502))).id))[1]).toBe(2)
  expect((await bodyOf(other, (await other.put(bagOf(503))).id))[1]).toBe(0)
})

test('training skips bodies that are long before compression', async () => {
  const store = await open()
  await fill(store, 40)
  await store.putMany(Array.from({ length: 40 }, (_, n) => ({ ...bagOf(n), text: 'again '.repeat(3_000) })))
  expect(await store.trainDictionary({ bytes: 1024 })).toMatchObject({ sample: 40, unreadable: 0 })
})

test('writes use the last trained dictionary, and bodies of earlier ones are read', async () => {
  const store = await open()
  await fill(store, 60)
  const first = await store.trainDictionary({ bytes: 512 })
  const old = (await store.put(bagOf(1))).id
  await store.putMany(Array.from({ length: 60 }, (_, n) => otherOf(n)))
  const second = await store.trainDictionary({ bytes: 512, sample: 60 })
  expect(second.id).not.toBe(first.id)
  const id = (await store.put(otherOf(200))).id
  expect(Buffer.from(await bodyOf(store, id)).toString('hex', 10, 16)).toBe(second.id)
  const again = await open()
  expect(await again.getMany([old, id])).toMatchObject([bagOf(1), otherOf(200)])
  expect(Buffer.from(await bodyOf(again, (await again.put(otherOf(201))).id)).toString('hex', 10, 16)).toBe(
    second.id,
  )
})

test('training rejects too few entities, a codec without dictionaries and invalid options, and stores nothing', async () => {
  const store = await open()
  await fill(store, 10)
  await expect(store.trainDictionary()).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('10 were looked at, and 0 could not be read') as string,
  })
  await expect(store.trainDictionary({ sample: '99' as unknown as number })).rejects.toThrow(
    'The option sample of trainDictionary has to be a whole number from 20 to 100000; got a string of 2 characters.',
  )
  for (const options of [
    { sample: 1 },
    { sample: 1.5 },
    { bytes: 100 },
    { bytes: 40_000 },
    { bytes: 'x' as unknown as number },
  ])
    await expect(store.trainDictionary(options)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  const { encode, decode } = msgpackZlibCodec()
  const bare = await open(undefined, { name: 'bare', encode, decode })
  await expect(bare.trainDictionary()).rejects.toThrow('The codec bare knows no shapes and no dictionaries')
  for (const { codecEntries } of driver.shards) expect(await codecEntries.all()).toEqual([])
})

test('training names a missing table, writes continue, and migrate repairs it', async () => {
  const store = await open()
  await fill(store, 60)
  await driver.shards[1]!.dropIndexTable({ table: 'looseleaf_codec', columns: [] })
  await expect(store.trainDictionary()).rejects.toMatchObject({
    code: 'NOT_MIGRATED',
    message: expect.stringContaining('open the store once with `migrate: true`') as string,
  })
  expect((await bodyOf(store, (await store.put(bagOf(1))).id))[1]).toBe(0)
  expect((await (await open()).trainDictionary()).sample).toBe(61)
})
