import { deepStrictEqual } from 'node:assert/strict'
import { deflateRawSync } from 'node:zlib'
import { copyBag, isLooseleafError, type Bag, type StoreCodec } from '@looseleaf/core'
import { MAX_DEPTH, MAX_VALUES, type CodecEntry } from '@looseleaf/core/internal'
import { decode as decodeElsewhere } from '@msgpack/msgpack'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { envelope } from '../test/envelope.ts'
import { readIndependently } from '../test/independent-reader.ts'
import type { EnvelopeCodecOptions } from './envelope-options.ts'
import { envelopeCodec, jsonFormat, msgpackFormat } from './index.ts'
import { readShaped } from './msgpack-read.ts'
import { packMsgpack } from './msgpack-pack.ts'
import { createShapeCandidates } from './shape-candidates.ts'
import { valuesOf } from './shape-values.ts'
import { codecEntryOf, readShape, shapeEntry, type Shape } from './shape.ts'

const entry: Bag = {
  user: 'f48b0440',
  published: new Date('2009-02-27T01:10:46Z'),
  title: 'We just launched',
  service: { name: 'blog', kind: 'post' },
  comments: [
    { by: 'ann', text: 'nice' },
    { by: 'bob', text: 'é' },
  ],
  hidden: false,
}

function forStore(options: EnvelopeCodecOptions = { shapes: true }): StoreCodec {
  return envelopeCodec(options).forStore!()
}

function give(codec: StoreCodec, definitions: readonly CodecEntry[], confirm = true): void {
  for (const definition of definitions) {
    expect(codec.codecEntries.learn({ ...definition, added: 1 })).toBe(true)
    if (confirm) codec.codecEntries.confirm(definition.id)
  }
}

/** Encodes a bag this often. Returns the shapes that the codec wants then. */
function wantedAfter(codec: StoreCodec, bag: Bag, times = 32): readonly CodecEntry[] {
  for (let i = 0; i < times; i++) codec.encode(bag)
  return codec.codecEntries.wanted()
}

/** Creates a codec that writes this bag by its shape. */
function shapedBy(bag: Bag, options?: EnvelopeCodecOptions): StoreCodec {
  const codec = forStore(options)
  give(codec, wantedAfter(codec, bag))
  return codec
}

describe('stored bytes with shapes', () => {
  // The README has this example. A change here is a change of the stored format.
  const shape =
    '["user","published","title",["service","object",["name","kind"]],["comments","elements",["by","text"]],"hidden"]'
  const body =
    '030000000040211fa3a23cd8b12ed9c396a86634386230343430d6ff49a73d96b05765206a757374206c61756e6368656492a4626c6f67a4706f73749292a3616e6ea46e69636592a3626f62a2c3a9c2'
  const id = '3cd8b12ed9c3'

  test('a shaped body is the bytes of the README, and does not change', () => {
    const codec = shapedBy(entry)
    const [known] = codec.codecEntries.known()
    expect([known?.id, known?.kind, String(Buffer.from(known!.bytes))]).toEqual([id, 'shape', shape])
    expect(Buffer.from(codec.encode(entry)).toString('hex')).toBe(body)
  })

  test('a shaped body is plain MessagePack of the values in the order of the names', () => {
    const { published, ...rest } = entry
    expect(decodeElsewhere(Buffer.from(body, 'hex').subarray(16))).toStrictEqual([
      rest['user'],
      published,
      rest['title'],
      ['blog', 'post'],
      [
        ['ann', 'nice'],
        ['bob', 'é'],
      ],
      false,
    ])
  })

  test('a reader written by the README alone reads shaped bodies', () => {
    const stored = { [id]: Buffer.from(shape) }
    expect(readIndependently(Buffer.from(body, 'hex'), stored)).toStrictEqual(entry)
    const odd: Bag = { ...entry, service: null, comments: [{ by: 'x' }, { by: 'y', text: 'z' }, 'none'] }
    const codec = shapedBy(entry)
    expect(readIndependently(Buffer.from(codec.encode(odd)), stored)).toStrictEqual(odd)
    const both = shapedBy(entry, { shapes: true, dictionary: true })
    const dictionary = codecEntryOf(
      'dictionary',
      Buffer.from('We just launched nice blog post f48b0440'.repeat(3)),
    )
    give(both, [dictionary])
    for (const packer of [both, shapedBy(entry, { dictionary: true })]) {
      give(packer, [dictionary])
      const packed = packer.encode({ ...entry, title: 'We just launched '.repeat(6) })
      expect(packed[1]).toBe(2)
      expect(
        readIndependently(Buffer.from(packed), { ...stored, [dictionary.id]: Buffer.from(dictionary.bytes) }),
      ).toStrictEqual({ ...entry, title: 'We just launched '.repeat(6) })
    }
  })
})

describe('a codec with shapes', () => {
  test('a codec writes self-contained bodies until a shape is confirmed, and wants one after enough bags', () => {
    const codec = forStore()
    expect(wantedAfter(codec, entry, 31)).toEqual([])
    const wanted = wantedAfter(codec, entry, 200)
    expect(wanted).toHaveLength(1)
    expect(codec.encode(entry)[0]).toBe(1)
    give(codec, wanted, false)
    expect(codec.encode(entry)[0]).toBe(1)
    codec.codecEntries.confirm(wanted[0]!.id)
    expect(codec.encode(entry)[0]).toBe(3)
    expect(codec.codecEntries.wanted()).toEqual([])
  })

  test('a codec with shapes returns every bag, whether it fits the shape or not', () => {
    fc.assert(
      fc.property(arbitraryBag, arbitraryBag, (bag, other) => {
        const codec = shapedBy(copyBag(bag))
        // Other values under the same names.
        const mixed = Object.fromEntries(
          Object.keys(bag).map((name, i) => [name, Object.values(other)[i] ?? null]),
        )
        for (const each of [bag, mixed, other]) deepStrictEqual(codec.decode(codec.encode(each)), each)
      }),
      { numRuns: runsOf(20) },
    )
  })

  test('a bag with an array at the position of a nested object is self-contained', () => {
    const codec = shapedBy(entry)
    for (const [name, value, format] of [
      ['service', [], 1],
      ['service', ['blog', 'post'], 1],
      ['service', [['blog', 'post']], 1],
      ['comments', [[]], 1],
      ['comments', [{ by: 'ann', text: 'nice' }, ['bob', 'é']], 1],
      ['service', { kind: 'post', name: 'blog' }, 3],
      ['service', null, 3],
      ['comments', [], 3],
      ['comments', { by: 'ann', text: 'nice' }, 3],
      ['comments', [1, { by: ['ann'], text: [] }, { text: 'nice', by: 'ann' }], 3],
      ['hidden', [['blog', 'post']], 3],
    ] as const) {
      const bag = { ...entry, [name]: value } as Bag
      const body = codec.encode(bag)
      expect([name, value, body[0]]).toEqual([name, value, format])
      deepStrictEqual(codec.decode(body), bag)
    }
  })

  test('a property with both objects and arrays, or with arrays of arrays, has no nested shape', () => {
    for (const [values, expected] of [
      [[{ a: 1 }, { a: 2 }], '["user",["at","object",["a"]]]'],
      [[[{ a: 1 }], [], ['x', { a: 2 }]], '["user",["at","elements",["a"]]]'],
      [[{ a: 1 }, [{ a: 1 }]], '["user","at"]'],
      [[{ a: 1 }, []], '["user","at"]'],
      [[[{ a: 1 }], [{ a: 1 }, [1]]], '["user","at"]'],
    ] as const) {
      const codec = forStore()
      for (let i = 0; i < 40; i++) codec.encode({ user: 'x', at: values[i % values.length] } as Bag)
      expect(codec.codecEntries.wanted().map(({ bytes }) => String(Buffer.from(bytes)))).toEqual([expected])
    }
  })

  test('a shape with more nested names is preferred, in either order of confirmation', () => {
    const plain = shapeEntry({
      names: Object.keys(entry),
      nested: Object.keys(entry).map(() => undefined),
    })
    const [rich] = wantedAfter(forStore(), entry)
    for (const definitions of [
      [plain, rich!],
      [rich!, plain],
    ]) {
      const codec = forStore()
      give(codec, definitions)
      expect(Buffer.from(codec.encode(entry)).toString('hex', 10, 16)).toBe(rich!.id)
    }
  })

  test('bags whose names are data get no shape, and cost bounded memory', () => {
    const codec = forStore()
    for (let i = 0; i < 3000; i++) codec.encode({ [`name ${i}`]: 1, [`other ${i}`]: 2 })
    expect(codec.codecEntries.wanted()).toEqual([])
    // A nested object with such names gets no nested shape, and its bag still gets one.
    for (let i = 0; i < 64; i++) codec.encode({ user: 'x', votes: { [`user ${i}`]: 1 } })
    expect(codec.codecEntries.wanted().map(({ bytes }) => String(Buffer.from(bytes)))).toEqual([
      '["user","votes"]',
    ])
  })

  test('names that are too long for a shape are not counted', () => {
    const candidates = createShapeCandidates()
    const seen = (name: string): unknown[] =>
      Array.from({ length: 32 }, () => candidates.observe({ [name]: 1 }, [name]))
    expect(seen('n'.repeat(16 * 1024 + 1)).filter(Boolean)).toEqual([])
    expect(seen('n'.repeat(16 * 1024)).filter(Boolean)).toHaveLength(1)
  })

  test('names whose shape would be too long count towards the limit of shapes', () => {
    const codec = forStore()
    const long = (i: number): Bag =>
      // A shape escapes these names, which are short enough without it.
      Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`${i} ${n} `.padEnd(4_000, '"'), 1]))
    for (let i = 0; i < 256; i++) {
      const bag = long(i)
      for (let n = 0; n < 32; n++) codec.encode(bag)
    }
    expect(codec.codecEntries.wanted()).toEqual([])
    for (let n = 0; n < 64; n++) codec.encode(entry)
    expect(codec.codecEntries.wanted()).toEqual([])
  })

  test('a codec made by spreading another has no forStore, which would bypass its encode', () => {
    const inner = envelopeCodec({ shapes: true })
    const outer = { ...inner, encode: (bag: Bag) => inner.encode(bag).toReversed() }
    expect(inner.forStore).toBeTypeOf('function')
    expect('forStore' in outer).toBe(false)
  })

  test('a codec wants at most 256 shapes', () => {
    const codec = forStore()
    for (let i = 0; i < 300; i++) wantedAfter(codec, { [`name ${i}`]: 1 }, 32)
    expect(codec.codecEntries.wanted()).toHaveLength(256)
  })

  test('a codec names the missing shape of a body', () => {
    const writer = shapedBy(entry)
    const body = writer.encode(entry)
    const [known] = writer.codecEntries.known()
    const reader = forStore({})
    expect(reader.codecEntries.missing(body)).toEqual([known!.id])
    expect(codeOf(() => reader.decode(body))).toBe('BODY_UNKNOWN')
    expect(() => reader.decode(body)).toThrow(known!.id)
    give(reader, [known!])
    expect(reader.codecEntries.missing(body)).toEqual([])
    expect(reader.decode(body)).toStrictEqual(entry)
    expect(reader.encode(entry)[0]).toBe(1)
    for (const bytes of [
      new Uint8Array(0),
      Uint8Array.of(3),
      Uint8Array.of(3, 2, 0),
      new Uint8Array(30).fill(3),
    ])
      expect(forStore().codecEntries.missing(bytes)).toEqual([])
  })

  test('a codec refuses entries whose id does not match, or whose content is not valid', () => {
    const { codecEntries } = forStore()
    const [good] = wantedAfter(forStore(), entry)
    const bad = [
      { ...good!, bytes: Buffer.from('["other"]') },
      { ...good!, kind: 'dictionary' },
      codecEntryOf('other kind', Buffer.from('["a"]')),
      ...[
        '{',
        '{}',
        '[1]',
        '["a","a"]',
        '["__proto__"]',
        '[["a"]]',
        '[["a",["b"]]]',
        '[["a","object"]]',
        '[["a","other",["b"]]]',
        '[["a","object",["b"],1]]',
        '[["a","object","b"]]',
        '["\\ud800"]',
        'null',
      ].map((text) => codecEntryOf('shape', Buffer.from(text))),
      codecEntryOf('shape', Buffer.from(JSON.stringify(['x'.repeat(20_000)]))),
      codecEntryOf('dictionary', Buffer.alloc(40_000)),
    ]
    for (const each of bad) expect(codecEntries.learn({ ...each, added: 1 })).toBe(false)
    expect(codecEntries.known()).toEqual([])
    // Confirmed ids of refused entries are ignored.
    for (const { id } of bad) codecEntries.confirm(id)
    expect(forStore().encode(entry)[0]).toBe(1)
  })

  test.each<[string, EnvelopeCodecOptions]>([
    ['shapes with another format', { shapes: true, format: jsonFormat }],
    ['shapes of another type than boolean', { shapes: 1 as unknown as boolean }],
    ['dictionaries without compression', { dictionary: true, compression: 'none' }],
    ['dictionaries of another type than boolean', { dictionary: 'x' as unknown as boolean }],
  ])('%s are BAD_OPTION', (_, options) => {
    expect(codeOf(() => envelopeCodec(options))).toBe('BAD_OPTION')
  })
})

describe('hostile bodies that refer to a shape', () => {
  const codec = shapedBy(entry)
  const shape = readShape(codec.codecEntries.known()[0]!.bytes)!
  const values = Buffer.from(codec.encode(entry)).subarray(16)
  const id = Buffer.from(codec.codecEntries.known()[0]!.id, 'hex')
  const decode = (bytes: Uint8Array, rawLength = bytes.length): Bag =>
    codec.decode(envelope({ format: 3, rawLength, payload: Buffer.concat([id, bytes]) }))

  test('a shaped body that is cut short, or has extra bytes, is BODY_DAMAGED', () => {
    deepStrictEqual(decode(values), entry)
    for (let length = 0; length < values.length; length++)
      expect(codeOf(() => decode(values.subarray(0, length)))).toBe('BODY_DAMAGED')
    expect(codeOf(() => decode(Buffer.concat([values, Buffer.from([0xc0])])))).toBe('BODY_DAMAGED')
    for (const length of [0, 5]) {
      const body = envelope({ format: 3, rawLength: 0, payload: id.subarray(0, length) })
      expect(codeOf(() => codec.decode(body))).toBe('BODY_DAMAGED')
    }
  })

  test('a shaped body with changed bytes is BODY_DAMAGED, or a bag that can be encoded again', () => {
    let accepted = 0
    fc.assert(
      fc.property(fc.nat(values.length - 1), fc.nat(255), (position, byte) => {
        const changed = Buffer.from(values)
        changed[position] = byte
        let bag: Bag
        try {
          bag = readShaped(changed, shape)
        } catch (error) {
          expect(isLooseleafError(error, 'BODY_DAMAGED')).toBe(true)
          return
        }
        accepted++
        // A bag that was read by a shape fits that shape.
        deepStrictEqual(readShaped(packMsgpack(valuesOf(copyBag(bag), shape)!), shape), bag)
      }),
      { numRuns: 3000, seed: 7 },
    )
    expect(accepted).toBeGreaterThan(300)
  })

  test('a shaped body with another number of values than names is BODY_DAMAGED', () => {
    const shapeAt = (inArray: boolean): Shape => ({
      names: ['a'],
      nested: [{ names: ['b', 'c'], nested: [undefined, undefined], inArray }],
    })
    deepStrictEqual(readShaped(Buffer.from('919201c0', 'hex'), shapeAt(false)), { a: { b: 1, c: null } })
    deepStrictEqual(readShaped(Buffer.from('9191dc000201c0', 'hex'), shapeAt(true)), {
      a: [{ b: 1, c: null }],
    })
    for (const hex of ['90', '9201c0', '81a16101', 'c0', '', 'dd00000002c0c0']) {
      expect(codeOf(() => readShaped(Buffer.from(hex, 'hex'), shapeAt(false)))).toBe('BODY_DAMAGED')
    }
    for (const hex of ['9190', '919101', '9193010203', '91dc000301c0c0']) {
      expect(codeOf(() => readShaped(Buffer.from(hex, 'hex'), shapeAt(false)))).toBe('BODY_DAMAGED')
    }
    for (const hex of ['919190', '91919101', '919193010203', '919201c090', '91919201']) {
      expect(codeOf(() => readShaped(Buffer.from(hex, 'hex'), shapeAt(true)))).toBe('BODY_DAMAGED')
    }
  })

  test('the values and levels of shaped objects count towards the limits', () => {
    const nested: Shape = {
      names: ['a'],
      nested: [{ names: ['b', 'c'], nested: [undefined, undefined], inArray: true }],
    }
    const many = (count: number): Buffer => {
      const head = Buffer.from('91dd00000000', 'hex')
      head.writeUInt32BE(count, 2)
      return Buffer.concat([head, ...Array.from({ length: count }, () => Buffer.from('92c0c0', 'hex'))])
    }
    const fitting = Math.floor((MAX_VALUES - 1) / 3)
    expect(readShaped(many(fitting), nested)['a']).toHaveLength(fitting)
    expect(codeOf(() => readShaped(many(fitting + 1), nested))).toBe('BODY_TOO_LARGE')
    const flat: Shape = { names: ['a'], nested: [undefined] }
    const deep = (depth: number): Buffer => Buffer.concat([Buffer.alloc(depth, 0x91), Buffer.from([0xc0])])
    expect(() => readShaped(deep(MAX_DEPTH), flat)).not.toThrow()
    expect(codeOf(() => readShaped(deep(MAX_DEPTH + 1), flat))).toBe('BODY_DAMAGED')
    const deepInArray = (depth: number): Buffer =>
      Buffer.concat([Buffer.from('919192', 'hex'), deep(depth), deep(0)])
    expect(() => readShaped(deepInArray(MAX_DEPTH - 3), nested)).not.toThrow()
    expect(codeOf(() => readShaped(deepInArray(MAX_DEPTH - 2), nested))).toBe('BODY_DAMAGED')
  })

  test('a body compressed by a dictionary takes no more memory than it announces', () => {
    const packer = forStore({ dictionary: true })
    const dictionary = codecEntryOf('dictionary', Buffer.alloc(1000, 'abc'))
    give(packer, [dictionary])
    const number = Buffer.from(dictionary.id, 'hex')
    const bomb = deflateRawSync(Buffer.alloc(50_000_000), { dictionary: dictionary.bytes })
    const before = process.memoryUsage().arrayBuffers
    for (const rawLength of [0, 1000]) {
      const body = envelope({ flags: 2, rawLength, payload: Buffer.concat([number, bomb]) })
      expect(codeOf(() => packer.decode(body))).toBe('BODY_DAMAGED')
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024)
    const raw = msgpackFormat.encode({ text: 'abc'.repeat(100) })
    const packed = deflateRawSync(raw, { dictionary: dictionary.bytes })
    const whole = (payload: Uint8Array): Uint8Array =>
      envelope({ flags: 2, rawLength: raw.length, payload: Buffer.concat([number, payload]) })
    expect(packer.decode(whole(packed))).toStrictEqual({ text: 'abc'.repeat(100) })
    for (const payload of [
      packed.subarray(0, -1),
      Buffer.concat([packed, Buffer.from([0])]),
      raw,
      Buffer.alloc(0),
    ])
      expect(codeOf(() => packer.decode(whole(payload)))).toBe('BODY_DAMAGED')
    expect(codeOf(() => forStore().decode(whole(packed)))).toBe('BODY_UNKNOWN')
  })
})

describe('dictionaries', () => {
  const bags = Array.from({ length: 200 }, (_, i) => ({
    title: `Something new on page ${i}`,
    link: `https://example.com/entries/${i}`,
    secret: `only here: ${String(i).repeat(9)} ${(i * 7919) % 1013}x${(i * 104_729) % 7919}`,
  }))

  test('a dictionary has text that many bags share, and nothing of a single bag', () => {
    const codec = forStore({ dictionary: true })
    const dictionary = codec.codecEntries.train(bags, 2048)
    const text = Buffer.from(dictionary.bytes).toString('latin1')
    expect(text).toContain('https://example.com/entries/'.slice(0, 20))
    expect(dictionary.bytes.length).toBeLessThanOrEqual(2048)
    for (const [i, { secret }] of bags.entries()) {
      if (i > 110) expect(text).not.toContain(secret.slice(11, 30))
    }
    expect(codec.codecEntries.train([], 2048).bytes).toHaveLength(0)
    // The codec knows a dictionary only after `learn`.
    expect(codec.codecEntries.known()).toEqual([])
  })

  test('the newest dictionary compresses small bodies, and older bodies are still read', () => {
    const codec = forStore({ dictionary: true, shapes: true })
    const bag = { ...bags[5]!, secret: 'x' }
    const plain = codec.encode(bag)
    const first = codec.codecEntries.train(bags, 512)
    const second = codec.codecEntries.train(bags, 4096)
    codec.codecEntries.learn({ ...second, added: 2 })
    codec.codecEntries.confirm(second.id)
    codec.codecEntries.learn({ ...first, added: 1 })
    codec.codecEntries.confirm(first.id)
    const packed = codec.encode(bag)
    expect(packed.length).toBeLessThan(plain.length * 0.7)
    expect(Buffer.from(packed).toString('hex', 10, 16)).toBe(second.id)
    for (const body of [plain, packed]) expect(codec.decode(body)).toStrictEqual(bag)
    expect(codec.name).toBe('msgpack+shapes+dictionary')
    // This body would not become smaller.
    expect(codec.encode({ a: 1 })[1]).toBe(0)
    expect(forStore({}).codecEntries.missing(packed)).toEqual([second.id])
  })
})
