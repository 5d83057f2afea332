import { deepStrictEqual } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { LooseleafError, type Bag } from '@looseleaf/core'
import { MAX_VALUES } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { envelope } from '../test/envelope.ts'
import {
  envelopeCodec,
  jsonCodec,
  jsonFormat,
  jsonZlibCodec,
  msgpackFormat,
  msgpackZlibCodec,
  type BodyFormat,
} from './index.ts'
import type { EnvelopeCodecOptions } from './envelope-options.ts'
import { tunedEnvelopeCodec } from './envelope-codec.ts'

const uncompressed = envelopeCodec({ compression: 'none' })
const everything = tunedEnvelopeCodec({}, 0)

/** A custom format: JSON backwards. */
const backwards: BodyFormat = {
  id: 16,
  name: 'backwards',
  encode: (bag) => jsonFormat.encode(bag).toReversed(),
  decode: (bytes) => jsonFormat.decode(bytes.toReversed()),
}

function noKey(): never {
  throw new Error('There is no key for this.')
}

function unknownKey(): never {
  throw new LooseleafError('BODY_UNKNOWN', 'There is no key for this.')
}

describe('the bytes that are stored', () => {
  const sample: Bag = {
    title: 'We just launched',
    published: new Date(1235697046123),
    likes: 12,
    serial: 9007199254740993n,
    score: 4.5,
    hidden: false,
    source: null,
    hash: new Uint8Array([1, 2, 255]),
    tags: ['mysql', 'é'],
    $extra: { n: -1 },
  }

  // Databases have such bodies. A change here is a change of the stored format, which needs a format number of its own.
  const golden: Record<string, string> = {
    'an empty bag in msgpack': '010000000001cfb866ab80',
    'a sample in msgpack':
      '0100000000869c6b6a338aa57469746c65b05765206a757374206c61756e63686564a97075626c6973686564d7ff1d53530049a73d96a56c696b65730ca673657269616cd30020000000000001a573636f7265cb4012000000000000a668696464656ec2a6736f75726365c0a468617368c4030102ffa47461677392a56d7973716ca2c3a9a624657874726181a16eff',
    'a sample in JSON':
      '0200000000eb68a3223f7b227469746c65223a225765206a757374206c61756e63686564222c227075626c6973686564223a7b222464617465223a22323030392d30322d32375430313a31303a34362e3132335a227d2c226c696b6573223a31322c2273657269616c223a7b2224626967696e74223a2239303037313939323534373430393933227d2c2273636f7265223a342e352c2268696464656e223a66616c73652c22736f75726365223a6e756c6c2c2268617368223a7b22246279746573223a2241514c2f227d2c2274616773223a5b226d7973716c222c22c3a9225d2c2224246578747261223a7b226e223a2d317d7d',
  }

  test('stored bytes do not change', () => {
    const hex = (body: Uint8Array): string => Buffer.from(body).toString('hex')
    expect({
      'an empty bag in msgpack': hex(msgpackZlibCodec().encode({})),
      'a sample in msgpack': hex(msgpackZlibCodec().encode(sample)),
      'a sample in JSON': hex(jsonCodec().encode(sample)),
    }).toEqual(golden)
  })

  test.each(Object.keys(golden).slice(1))('stored bytes are read for ever: %s', (kind) => {
    expect(msgpackZlibCodec().decode(Buffer.from(golden[kind] as string, 'hex'))).toStrictEqual(sample)
  })

  // zlib may compress differently in another version of Node, so these bodies are only read.
  test.each([
    [
      'msgpack',
      '0101000005f04659a97e789c6b5a52925a51728bf54e4e6a629ac228314a8c12a3c42831ac888579971920801100741f0a48',
    ],
    [
      'JSON',
      '0201000005fb75ab7a52789cab562a49ad2851b252ca494d4c531825468951629418258615a1a4a394a76455ada49294999e99072aed0d956a6b016e080ce2',
    ],
  ])('stored bytes are read for ever: compressed %s', (_, hex) => {
    expect(msgpackZlibCodec().decode(Buffer.from(hex, 'hex'))).toStrictEqual({
      text: 'leaf '.repeat(300),
      n: 1n,
    })
  })

  test('a body has format, flags, raw length, checksum and payload', () => {
    const payload = msgpackFormat.encode({ a: 1 })
    expect(Buffer.from(uncompressed.encode({ a: 1 }))).toStrictEqual(
      envelope({ rawLength: payload.length, payload }),
    )
  })
})

describe('compression', () => {
  const flagsOf = (body: Uint8Array): number => body[1] as number
  const repetitive: Bag = { text: 'again and '.repeat(200) }

  test('compression is used if it makes a body smaller', () => {
    const body = msgpackZlibCodec().encode(repetitive)
    expect(flagsOf(body)).toBe(1)
    expect(body.length).toBeLessThan(uncompressed.encode(repetitive).length)
  })

  test('compression is left out if it does not make a body smaller', () => {
    const digests = Array.from({ length: 100 }, (_, i) => createHash('sha256').update(String(i)).digest())
    const random: Bag = { bytes: Buffer.concat(digests) }
    const stored = everything.encode(random)
    const tiny = everything.encode({ a: 1 })
    expect([flagsOf(stored), flagsOf(tiny)]).toEqual([0, 0])
    expect(stored).toStrictEqual(uncompressed.encode(random))
  })

  test('compression begins at a smallest body', () => {
    const raw = msgpackFormat.encode(repetitive).length
    expect(flagsOf(tunedEnvelopeCodec({}, raw + 1).encode(repetitive))).toBe(0)
    expect(flagsOf(tunedEnvelopeCodec({}, raw).encode(repetitive))).toBe(1)
  })

  test('compression is never used when it is off', () => {
    expect(flagsOf(uncompressed.encode(repetitive))).toBe(0)
    expect(flagsOf(jsonCodec().encode(repetitive))).toBe(0)
  })
})

describe('mixed formats', () => {
  const codecs = [msgpackZlibCodec(), jsonZlibCodec(), jsonCodec(), uncompressed, everything]

  test('every built-in codec reads the bodies of every other', () => {
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        for (const body of codecs.map((codec) => codec.encode(bag))) {
          for (const codec of codecs) deepStrictEqual(codec.decode(body), bag)
        }
      }),
      { numRuns: runsOf(20) },
    )
  })

  test('a custom format is written, and built-in formats are read beside it', () => {
    const codec = envelopeCodec({ format: backwards })
    const bag: Bag = { a: 1n, text: 'long enough to be compressed '.repeat(100) }
    expect(codec.name).toBe('backwards+zlib')
    expect(codec.encode(bag)[0]).toBe(16)
    for (const writer of [codec, ...codecs]) expect(codec.decode(writer.encode(bag))).toStrictEqual(bag)
  })

  test('a body of an unknown format is BODY_UNKNOWN, and the message names the known formats', () => {
    const body = envelopeCodec({ format: backwards }).encode({ a: 1 })
    expect(codeOf(() => msgpackZlibCodec().decode(body))).toBe('BODY_UNKNOWN')
    expect(() => msgpackZlibCodec().decode(body)).toThrow(/format 16 .*msgpack \(1\), json \(2\)/)
    expect(codeOf(() => envelopeCodec({ alsoReads: [] }).decode(jsonCodec().encode({})))).toBe('BODY_UNKNOWN')
  })

  test('an intact body that a custom format does not accept, or that it calls BODY_UNKNOWN, is BODY_UNKNOWN', () => {
    const sealed = (key: string, fail: () => never): BodyFormat => ({
      id: 16,
      name: 'sealed',
      encode: (bag) => Buffer.from(key + JSON.stringify(bag)),
      decode: (raw) => {
        const text = Buffer.from(raw).toString()
        return text.startsWith(key) ? (JSON.parse(text.slice(key.length)) as Bag) : fail()
      },
    })
    const body = envelopeCodec({ format: sealed('old:', noKey) }).encode({ a: 1 })
    for (const fail of [noKey, unknownKey]) {
      expect(codeOf(() => envelopeCodec({ format: sealed('new:', fail) }).decode(body))).toBe('BODY_UNKNOWN')
    }
  })

  test('a body with an unknown flag is BODY_UNKNOWN', () => {
    const payload = msgpackFormat.encode({})
    for (const flags of [3, 4, 128]) {
      expect(codeOf(() => uncompressed.decode(envelope({ flags, rawLength: 1, payload })))).toBe(
        'BODY_UNKNOWN',
      )
    }
  })

  test('an intact body is BODY_UNKNOWN if its format throws, or returns a value that is not a bag', () => {
    const read = (decode: (bytes: Uint8Array) => unknown): string => {
      const format = { ...backwards, decode: decode as BodyFormat['decode'] }
      return codeOf(() => envelopeCodec({ format }).decode(envelopeCodec({ format }).encode({})))
    }
    expect(read(() => JSON.parse('{'))).toBe('BODY_UNKNOWN')
    expect(read(() => null)).toBe('BODY_UNKNOWN')
    expect(read(() => ({ a: () => 1 }))).toBe('BODY_UNKNOWN')
  })

  test('a body whose format builds more than MAX_VALUES values is BODY_TOO_LARGE', () => {
    const many = { a: Array.from({ length: MAX_VALUES }, () => null) }
    const codec = envelopeCodec({ format: { ...backwards, decode: () => many } })
    expect(codeOf(() => codec.decode(codec.encode({})))).toBe('BODY_TOO_LARGE')
  })

  test('a custom format gets a frozen copy of the bag, whose values were read once', () => {
    let reads = 0
    const received: Bag[] = []
    const format: BodyFormat = {
      ...backwards,
      encode(bag) {
        received.push(bag)
        return backwards.encode(bag)
      },
    }
    const codec = envelopeCodec({ format })
    const body = codec.encode({
      list: [
        {
          get n() {
            return ++reads
          },
        },
      ],
      gone: undefined,
    })
    expect(received).toStrictEqual([{ list: [{ n: 1 }] }])
    expect(codec.decode(body)).toStrictEqual({ list: [{ n: 1 }] })
    expect(() => Object.assign(received[0] as Bag, { more: 1 })).toThrow(TypeError)
  })

  test('a bag that its format cannot encode is BAD_PROPERTY', () => {
    const failing: BodyFormat = { ...backwards, encode: (bag) => Buffer.from(JSON.stringify(bag)) }
    expect(codeOf(() => envelopeCodec({ format: failing }).encode({ a: 1n }))).toBe('BAD_PROPERTY')
    const wrong = { ...backwards, encode: () => 'text' as unknown as Uint8Array }
    expect(codeOf(() => envelopeCodec({ format: wrong }).encode({ a: 1n }))).toBe('BAD_OPTION')
  })
})

describe('hostile bodies with a checksum that holds', () => {
  const zeros = new Uint8Array(200 * 1024 * 1024)
  const bomb = deflateSync(zeros)

  test('a bomb that announces a small length is BODY_DAMAGED, in bounded memory', () => {
    const before = process.memoryUsage().arrayBuffers
    for (const rawLength of [0, 1, 1000]) {
      const body = envelope({ flags: 1, rawLength, payload: bomb })
      expect(codeOf(() => msgpackZlibCodec().decode(body))).toBe('BODY_DAMAGED')
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
  })

  test('a bomb that announces its length is BODY_TOO_LARGE before it is expanded', () => {
    const body = envelope({ flags: 1, rawLength: zeros.length, payload: bomb })
    const before = process.memoryUsage().arrayBuffers
    expect(codeOf(() => msgpackZlibCodec().decode(body))).toBe('BODY_TOO_LARGE')
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
  })

  test('a length that differs from the payload is BODY_DAMAGED', () => {
    const payload = msgpackFormat.encode({ text: 'abc'.repeat(100) })
    for (const rawLength of [0, 1, payload.length - 1, payload.length + 1]) {
      expect(codeOf(() => uncompressed.decode(envelope({ rawLength, payload })))).toBe('BODY_DAMAGED')
      expect(
        codeOf(() => uncompressed.decode(envelope({ flags: 1, rawLength, payload: deflateSync(payload) }))),
      ).toBe('BODY_DAMAGED')
    }
  })

  test('a compressed part that is cut short, has extra bytes or is not zlib is BODY_DAMAGED', () => {
    const raw = msgpackFormat.encode({ text: 'abc'.repeat(100) })
    const packed = deflateSync(raw)
    for (const payload of [
      packed.subarray(0, -1),
      Buffer.concat([packed, Buffer.from([0])]),
      raw,
      Buffer.alloc(0),
    ]) {
      const body = envelope({ flags: 1, rawLength: raw.length, payload })
      expect(codeOf(() => uncompressed.decode(body))).toBe('BODY_DAMAGED')
    }
    expect(
      uncompressed.decode(envelope({ flags: 1, rawLength: raw.length, payload: packed })),
    ).toHaveProperty('text')
  })

  test('a value that is not bytes is BODY_DAMAGED', () => {
    for (const stored of [undefined, null, '{"a":1} and more', [1, 2, 3]]) {
      expect(codeOf(() => uncompressed.decode(stored as unknown as Uint8Array))).toBe('BODY_DAMAGED')
    }
  })

  test('content that a built-in format refuses is BODY_DAMAGED', () => {
    for (const format of [1, 2]) {
      const payload = Buffer.from([0xc1])
      expect(codeOf(() => uncompressed.decode(envelope({ format, rawLength: 1, payload })))).toBe(
        'BODY_DAMAGED',
      )
    }
  })
})

describe('options', () => {
  test('a bag of exactly maxBodyBytes is stored, and one more byte is BODY_TOO_LARGE', () => {
    const small = envelopeCodec({ maxBodyBytes: 100 })
    const fitting = { a: 'x'.repeat(95) }
    expect(msgpackFormat.encode(fitting).length).toBe(100)
    expect(small.decode(small.encode(fitting))).toStrictEqual(fitting)
    expect(codeOf(() => small.encode({ a: 'x'.repeat(96) }))).toBe('BODY_TOO_LARGE')
  })

  test('an intact body above maxBodyBytes is BODY_TOO_LARGE when it is read', () => {
    const body = msgpackZlibCodec().encode({ a: 'x'.repeat(5000) })
    expect(codeOf(() => envelopeCodec({ maxBodyBytes: 100 }).decode(body))).toBe('BODY_TOO_LARGE')
  })

  test('codecs are named after format and compression', () => {
    expect(
      [msgpackZlibCodec(), jsonZlibCodec(), jsonCodec(), uncompressed].map((codec) => codec.name),
    ).toEqual(['msgpack+zlib', 'json+zlib', 'json', 'msgpack'])
  })

  test.each<[string, EnvelopeCodecOptions]>([
    ['an unknown compression', { compression: 'gzip' as 'zlib' }],
    ['a maxBodyBytes of 0', { maxBodyBytes: 0 }],
    ['a maxBodyBytes above the limit of the column', { maxBodyBytes: 2 ** 24 }],
    ['a maxBodyBytes that is not finite', { maxBodyBytes: Infinity }],
    ['a format with the id 0', { format: { ...backwards, id: 0 } }],
    ['a format with the id 32', { format: { ...backwards, id: 32 } }],
    ['a format with the id of a built-in one', { format: { ...backwards, id: 1 } }],
    ['options of null', null as unknown as EnvelopeCodecOptions],
    ['options in an array', [] as EnvelopeCodecOptions],
    ['an unknown option', { maxBodySize: 5 } as EnvelopeCodecOptions],
    ['a format of null', { format: null as unknown as BodyFormat }],
    ['a format without a name', { format: { ...backwards, name: '' } }],
    ['a format without encode', { format: { ...backwards, encode: undefined as unknown as () => Buffer } }],
    ['a format without decode', { format: { ...backwards, decode: undefined as unknown as () => Bag } }],
    ['one format for alsoReads', { alsoReads: jsonFormat as unknown as BodyFormat[] }],
    ['null among alsoReads', { alsoReads: [null as unknown as BodyFormat] }],
    ['two formats with one id', { alsoReads: [backwards, { ...backwards }] }],
  ])('%s is BAD_OPTION', (_, options) => {
    expect(codeOf(() => envelopeCodec(options))).toBe('BAD_OPTION')
  })

  test('the same format may be named twice', () => {
    expect(envelopeCodec({ format: jsonFormat, alsoReads: [jsonFormat, msgpackFormat] }).name).toBe(
      'json+zlib',
    )
  })
})
