import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { envelopeCodec, jsonFormat, msgpackFormat, type BodyFormat } from '@looseleaf/codec'
import { parseId, type Codec, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../data-store.ts'

let driver: Driver
let warnings: string[]

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  warnings = []
  onTestFinished(() => driver.close())
})

async function open(codec?: Codec): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(driver),
    codec,
    migrate: true,
    onWarning: (message) => void warnings.push(message),
  })
  onTestFinished(() => store.close())
  return store
}

async function fill(codec: Codec | undefined, count = 20): Promise<void> {
  const store = await open(codec)
  for (let n = 0; n < count; n++) await store.put({ n, text: `number ${n}` })
}

/** Puts `of` entities, and replaces the bodies of those with these numbers, by default by the body without its first byte. */
async function damage(
  numbers: readonly number[],
  of: number,
  bodyOf = (body: Uint8Array): Uint8Array => body.subarray(1),
): Promise<void> {
  const store = await open()
  const ids = []
  for (let n = 0; n < of; n++) ids.push((await store.put({ n })).id)
  for (const number of numbers) {
    const id = parseId(ids[number]!)
    const shard = store.context.router.shardOfId(id)
    const { entities } = driver.shards[shard]!
    const [row] = await entities.read([id])
    const epoch = store.context.catalog.current().epochs[shard]!
    const body = bodyOf(row!.body!)
    await entities.replace([{ id, base: row!.version, version: row!.version + 1, body }], { epoch })
  }
}

/** Makes a codec whose bodies only this key reads. */
function encrypted(key: Buffer): Codec {
  const format: BodyFormat = {
    id: 16,
    name: 'encrypted',
    encode(bag) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const text = Buffer.concat([cipher.update(msgpackFormat.encode(bag)), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), text])
    },
    decode(bytes) {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return msgpackFormat.decode(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]))
    },
  }
  return envelopeCodec({ format, alsoReads: [] })
}

test('a codec that does not know the format of the store cannot open it, and the error names the format', async () => {
  await fill(undefined)
  await expect(open(envelopeCodec({ format: jsonFormat, alsoReads: [] }))).rejects.toMatchObject({
    code: 'BODY_UNKNOWN',
    message: expect.stringMatching(
      /^The codec json\+zlib reads none of .* has format 1 \(msgpack\) .*this codec reads json \(2\)/,
    ),
  })
})

test('a store opens with the right key and with no other', async () => {
  const key = randomBytes(32)
  await fill(encrypted(key))
  await expect(open(encrypted(randomBytes(32)))).rejects.toMatchObject({
    code: 'BODY_UNKNOWN',
    message: expect.stringMatching(/the format encrypted of this process does not accept it.*and the key/),
  })
  await open(encrypted(key))
  expect(warnings).toEqual([])
})

test('bodies without an envelope count as damaged, with a warning for each shard', async () => {
  const plain: Codec = {
    name: 'plain',
    encode: (bag) => Buffer.from(JSON.stringify(bag)),
    decode: (body) => JSON.parse(Buffer.from(body).toString()),
  }
  await fill(plain)
  await open()
  expect(warnings).toEqual(
    driver.shards.map(({ name }) => expect.stringMatching(`${name}.* another codec wrote them`)),
  )
})

test("the message of an error that a custom codec throws stays out of the store's message", async () => {
  await fill(undefined)
  const naive: Codec = {
    name: 'naive',
    encode: (bag) => Buffer.from(JSON.stringify(bag)),
    decode(body) {
      throw new SyntaxError(Buffer.from(body).toString('latin1'))
    },
  }
  await expect(open(naive)).rejects.toMatchObject({
    code: 'BODY_UNKNOWN',
    message: expect.stringMatching(/The codec threw an object of class SyntaxError\./),
    cause: expect.any(SyntaxError),
  })
})

test('a codec that reads several formats opens a store with all of them', async () => {
  await fill(undefined)
  await fill(envelopeCodec({ format: jsonFormat, compression: 'none' }))
  await open()
  expect(warnings).toEqual([])
})

test('every codec opens an empty store, and a store with an empty shard', async () => {
  await open(encrypted(randomBytes(32)))
  await fill(undefined, 1)
  await open()
  expect(warnings).toEqual([])
})

test('open does not warn of one damaged body among others', async () => {
  await damage([0], 20)
  await open()
  expect(warnings).toEqual([])
})

test.each([1, 2, 20])('a store of %i bodies that are all damaged opens with warnings', async (count) => {
  await damage(
    Array.from({ length: count }, (_, n) => n),
    count,
  )
  await open()
  expect(warnings).not.toEqual([])
  for (const warning of warnings) expect(warning).toMatch(/reads none of .* on shard .*looseleaf damaged/)
})

test('a store whose oldest bodies cannot be read opens if its newest can', async () => {
  const json = envelopeCodec({ format: jsonFormat, alsoReads: [] })
  const oldest = Array.from({ length: 40 }, (_, n) => n)
  // The damaged bodies are also the newest, until others follow.
  await damage(oldest, 40, () => json.encode({}))
  await expect(open(envelopeCodec({ format: msgpackFormat, alsoReads: [] }))).rejects.toMatchObject({
    code: 'BODY_UNKNOWN',
  })
  await fill(undefined)
  await open(envelopeCodec({ format: msgpackFormat, alsoReads: [] }))
  expect(warnings).toEqual([])
})

test('one unknown format among damaged bodies prevents opening, and is the cause of the error', async () => {
  await damage([0], 1)
  await damage([0], 1, () => encrypted(randomBytes(32)).encode({}))
  await expect(open()).rejects.toMatchObject({ code: 'BODY_UNKNOWN', cause: { code: 'BODY_UNKNOWN' } })
})
