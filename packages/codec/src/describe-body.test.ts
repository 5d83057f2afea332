import type { CodecEntry } from '@looseleaf/core/internal'
import type { StoreCodec } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { envelopeCodec, jsonCodec, msgpackZlibCodec } from './index.ts'

const bag = { title: 'Something new', text: 'again and '.repeat(150) }

function give(codec: StoreCodec, definition: CodecEntry): void {
  codec.codecEntries.learn({ ...definition, added: 1 })
  codec.codecEntries.confirm(definition.id)
}

test('describe returns the layout of a body', () => {
  const selfContained = { headerBytes: 10, shape: undefined, dictionary: undefined }
  const json = jsonCodec()
  const plainBytes = json.encode(bag).length - 10
  expect(json.describe!(json.encode(bag))).toEqual({
    format: 'json',
    compression: 'none',
    plainBytes,
    ...selfContained,
  })
  const zlib = msgpackZlibCodec()
  const compressed = { format: 'msgpack', compression: 'zlib', ...selfContained }
  expect(zlib.describe!(zlib.encode(bag))).toMatchObject(compressed)
  // This codec does not read JSON.
  const alone = envelopeCodec({ alsoReads: [] })
  expect(alone.describe!(json.encode(bag))).toMatchObject({ format: '2', compression: 'none' })
})

test('describe returns the shape and dictionary of a body, known or not', () => {
  const codec = envelopeCodec({ shapes: true, dictionary: true }).forStore!()
  for (let i = 0; i < 40; i++) codec.encode(bag)
  const [shape] = codec.codecEntries.wanted()
  give(codec, shape!)
  const shaped = { format: 'msgpack', headerBytes: 16, shape: shape!.id, dictionary: undefined }
  expect(codec.describe!(codec.encode(bag))).toMatchObject({ ...shaped, compression: 'zlib' })
  const dictionary = codec.codecEntries.train(
    Array.from({ length: 40 }, () => bag),
    512,
  )
  give(codec, dictionary)
  const body = codec.encode(bag)
  const both = {
    format: 'msgpack',
    compression: 'dictionary',
    headerBytes: 22,
    shape: shape!.id,
    dictionary: dictionary.id,
  }
  expect(codec.describe!(body)).toMatchObject(both)
  expect(envelopeCodec().describe!(body)).toMatchObject(both)
})

test('describe returns undefined for a damaged body', () => {
  const codec = msgpackZlibCodec()
  const body = codec.encode(bag)
  for (let i = 0; i < body.length; i++) {
    const damaged = Buffer.from(body)
    damaged[i]! ^= 1
    expect(codec.describe!(damaged)).toBeUndefined()
    expect(codec.describe!(body.subarray(0, i))).toBeUndefined()
  }
})
