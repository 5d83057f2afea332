import { deepStrictEqual } from 'node:assert/strict'
import type { Bag } from '@looseleaf/core'
import { MAX_DEPTH } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { msgpackFormat } from './msgpack-format.ts'

function decode(...bytes: number[]): Bag {
  return msgpackFormat.decode(Uint8Array.from(bytes))
}

/** Decodes a bag whose only property `a` has these bytes. */
function decodeValue(...bytes: number[]): unknown {
  return decode(0x81, 0xa1, 0x61, ...bytes)['a']
}

/** Bytes by hand from the MessagePack specification, with their bags. */
const written: readonly (readonly [string, string, Bag])[] = [
  ['no property', '80', {}],
  ['booleans and null', '83a161c2a162c3a163c0', { a: false, b: true, c: null }],
  ['small integers', '81a1619500017fffe0', { a: [0, 1, 127, -1, -32] }],
  [
    'integers of 8, 16 and 32 bits',
    '81a16199cc80ccffcd0100cdffffce00010000ceffffffffd0dfd1ff7fd2ffff7fff',
    { a: [128, 255, 256, 65535, 65536, 4294967295, -33, -129, -32769] },
  ],
  [
    'doubles',
    '81a16195cb3ff8000000000000cb41f0000000000000cb7ff8000000000000cb7ff0000000000000cbfff0000000000000',
    { a: [1.5, 4294967296, NaN, Infinity, -Infinity] },
  ],
  [
    'bigints',
    '81a16194d30000000000000000d3ffffffffffffffffcf8000000000000000cfffffffffffffffff',
    { a: [0n, -1n, 2n ** 63n, 2n ** 64n - 1n] },
  ],
  ['texts of one, two, three and four bytes a character', '81a161aa61c3a9e282acf09d849e', { a: 'aé€𝄞' }],
  ['a text with a length of 8 bits', `81a161d920${'78'.repeat(32)}`, { a: 'x'.repeat(32) }],
  ['a text with a length of 16 bits', `81a161da0100${'78'.repeat(256)}`, { a: 'x'.repeat(256) }],
  ['a text with a length of 32 bits', `81a161db00010000${'78'.repeat(65536)}`, { a: 'x'.repeat(65536) }],
  ['a long name', `81d920${'78'.repeat(32)}01`, { ['x'.repeat(32)]: 1 }],
  ['bytes', '81a161c403000102', { a: Uint8Array.of(0, 1, 2) }],
  ['bytes with a length of 16 bits', `81a161c50100${'07'.repeat(256)}`, { a: new Uint8Array(256).fill(7) }],
  ['an array of sixteen', `81a161dc0010${'05'.repeat(16)}`, { a: Array.from({ length: 16 }, () => 5) }],
  ['objects in an array', '81a161928081a16201', { a: [{}, { b: 1 }] }],
  [
    'whole seconds up to 2106',
    '81a16193d6ff00000000d6ff00000001d6ffffffffff',
    { a: [new Date(0), new Date(1000), new Date(4294967295000)] },
  ],
  ['a time with milliseconds', '81a161d7ff1d53530049a73d96', { a: new Date(1235697046123) }],
  ['a time before 1970', '81a161c70cff3b8b87c0ffffffffffffffff', { a: new Date(-1) }],
  ['a time after 2106', '81a161c70cff3b8b87c000000003ffffffff', { a: new Date(17179869183999) }],
  [
    'the first and the last time',
    '81a16192c70cff00000000fffff82457de8000c70cff00000000000007dba8218000',
    { a: [new Date(-8.64e15), new Date(8.64e15)] },
  ],
]

describe('msgpackFormat', () => {
  test.each(written)('%s are written as specified, and read back', (_, hex, bag) => {
    deepStrictEqual(msgpackFormat.decode(Buffer.from(hex, 'hex')), bag)
    expect(Buffer.from(msgpackFormat.encode(bag)).toString('hex')).toBe(hex)
  })

  test('every bag comes back', () => {
    fc.assert(
      fc.property(arbitraryBag, (bag) => {
        deepStrictEqual(msgpackFormat.decode(msgpackFormat.encode(bag)), bag)
      }),
      { numRuns: runsOf(150) },
    )
  })

  test('random bytes are BODY_DAMAGED, or decode to a bag that can be encoded again', () => {
    const nearBag = fc.tuple(fc.constantFrom(0x80, 0x81, 0x82, 0xde), fc.uint8Array({ maxLength: 60 }))
    fc.assert(
      fc.property(nearBag, ([first, rest]) => {
        const bytes = Uint8Array.from([first, ...rest])
        const bag = decodedOrCode(bytes)
        if (bag !== 'BODY_DAMAGED') deepStrictEqual(decodedOrCode(msgpackFormat.encode(bag as Bag)), bag)
      }),
      { numRuns: runsOf(3000) },
    )
  })

  test('equal bags have equal bytes, for any NaN and zero', () => {
    const oddNaN = new Float64Array(new BigUint64Array([0xfff8_0000_0000_1234n]).buffer)[0] as number
    expect(msgpackFormat.encode({ a: oddNaN, b: -0 })).toStrictEqual(msgpackFormat.encode({ a: NaN, b: 0 }))
  })

  test('undefined is left out and NaN is unified at every level, and other values stay', () => {
    const deep: Bag = { z: 1, list: [{ a: undefined, b: [NaN, { c: undefined }] }, 'x'], end: new Date(5) }
    expect(msgpackFormat.decode(msgpackFormat.encode(deep))).toStrictEqual({
      z: 1,
      list: [{ b: [NaN, {}] }, 'x'],
      end: new Date(5),
    })
    expect(Object.hasOwn((deep['list'] as Bag[])[0] as Bag, 'a')).toBe(true)
  })

  test('a bag with undefined at every level is encoded in one walk', () => {
    let bag: Bag = { a: undefined }
    for (let i = 1; i < MAX_DEPTH; i++) bag = { a: undefined, in: bag }
    expect(msgpackFormat.encode(bag).length).toBe((MAX_DEPTH - 1) * 4 + 1)
  })

  test('a text of any length keeps a byte order mark at its start', () => {
    for (const length of [0, 27, 28, 29, 61, 62, 63, 64, 252, 253, 300, 65532, 65533, 70000]) {
      for (const letter of ['x', 'é', '\ufeff']) {
        const text = `\ufeff${letter.repeat(length)}`
        const bag = { [text]: 1, text, list: [text, `x${text}`, text], after: new Uint8Array([1]) }
        const bytes = msgpackFormat.encode(bag)
        const before = Buffer.from(bytes)
        deepStrictEqual(msgpackFormat.decode(bytes), bag)
        expect(before.equals(bytes)).toBe(true)
      }
    }
  })

  test('decoded bytes are a Uint8Array with memory of its own', () => {
    const bytes = msgpackFormat.encode({ a: Buffer.from('abc') })
    const decoded = msgpackFormat.decode(bytes)['a'] as Uint8Array
    bytes.fill(0)
    expect(Object.getPrototypeOf(decoded)).toBe(Uint8Array.prototype)
    expect([...decoded]).toEqual([97, 98, 99])
    expect(decoded.buffer.byteLength).toBe(3)
  })

  test('decode adds no property to its bytes', () => {
    const bytes = Uint8Array.from(msgpackFormat.encode({ a: 1 }))
    msgpackFormat.decode(bytes)
    expect(Object.keys(bytes)).toEqual(['0', '1', '2', '3'])
  })

  test('integers and floats in longer forms of other writers are read', () => {
    expect(decodeValue(0xcd, 0, 5)).toBe(5)
    expect(decodeValue(0xce, 0, 0, 0, 5)).toBe(5)
    expect(decodeValue(0xd2, 0, 0, 0, 5)).toBe(5)
    expect(decodeValue(0xca, 0x3f, 0xc0, 0, 0)).toBe(1.5)
    expect(decodeValue(0xca, 0x80, 0, 0, 0)).toBe(0)
    expect(decodeValue(0xca, 0x80, 0, 0, 1)).toBe(-(2 ** -149))
    expect(decodeValue(0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0)).toBe(0)
    expect(decodeValue(0xda, 0, 1, 0x78)).toBe('x')
    expect(decode(0xdf, 0, 0, 0, 1, 0xdb, 0, 0, 0, 1, 0x61, 0xdd, 0, 0, 0, 0)).toStrictEqual({ a: [] })
    expect(decodeValue(0xc8 - 1, 12, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)).toStrictEqual(new Date(1000))
  })

  const damagedBytes: Record<string, number[]> = {
    'no bytes at all': [],
    'a number alone': [0x05],
    'an array alone': [0x90],
    'nil alone': [0xc0],
    'the tag that is never used': [0x81, 0xa1, 0x61, 0xc1],
    'a record definition': [0x81, 0xa1, 0x61, 0xd4, 0x72, 0x40, 0x91, 0xa1, 0x62, 0x01],
    'an extension of one byte': [0x81, 0xa1, 0x61, 0xd4, 0x01, 0x00],
    'an extension of two bytes': [0x81, 0xa1, 0x61, 0xd5, 0x01, 0x00, 0x00],
    'an extension of four bytes that is no timestamp': [0x81, 0xa1, 0x61, 0xd6, 0x01, 0, 0, 0, 0],
    'an extension of sixteen bytes': [0x81, 0xa1, 0x61, 0xd8, 0xff, ...new Uint8Array(16)],
    'an extension with a length, no timestamp': [0x81, 0xa1, 0x61, 0xc7, 12, 0x01, ...new Uint8Array(12)],
    'a timestamp of five bytes': [0x81, 0xa1, 0x61, 0xc7, 5, 0xff, 0, 0, 0, 0, 0],
    'long extensions': [0x81, 0xa1, 0x61, 0xc8, 0, 1, 0xff, 0],
    'longer extensions': [0x81, 0xa1, 0x61, 0xc9, 0, 0, 0, 1, 0xff, 0],
    'a timestamp beyond what a Date holds': [
      0x81, 0xa1, 0x61, 0xc7, 12, 0xff, 0, 0, 0, 0, 0x7f, 255, 255, 255, 255, 255, 255, 255,
    ],
    'a timestamp with a billion nanoseconds': [
      0x81, 0xa1, 0x61, 0xd7, 0xff, 0xee, 0x6b, 0x28, 0x00, 0, 0, 0, 1,
    ],
    'a name that is a number': [0x81, 0x01, 0x01],
    'a name that is bytes': [0x81, 0xc4, 0x01, 0x61, 0x01],
    'a name that is nil': [0x81, 0xc0, 0x01],
    'an extension in which msgpackr gets texts from the scanner': [0x81, 0xa1, 0x61, 0xc7, 1, 0xef, 0xbb],
    'a name twice': [0x82, 0xa1, 0x61, 0x01, 0xa1, 0x61, 0x02],
    'an inherited name twice': [0x82, ...named('constructor'), 0x01, ...named('constructor'), 0x02],
    'a name twice, deep within': [0x81, 0xa1, 0x61, 0x91, 0x82, 0xa1, 0x62, 0x80, 0xa1, 0x62, 0x80],
    'the name __proto__': [0x81, ...named('__proto__'), 0x80],
    'the name __proto__ in a longer form': [0x81, 0xd9, 9, ...Buffer.from('__proto__'), 0x80],
    'a text that is not UTF-8': [0x81, 0xa1, 0x61, 0xa2, 0xc3, 0x28],
    'a surrogate in UTF-8': [0x81, 0xa1, 0x61, 0xa3, 0xed, 0xa0, 0x80],
    'an overlong form in UTF-8': [0x81, 0xa1, 0x61, 0xa2, 0xc0, 0x80],
    'a name that is not UTF-8': [0x81, 0xa1, 0xff, 0x01],
    'a byte too many': [0x80, 0xc0],
    'an array of four billion elements': [0x81, 0xa1, 0x61, 0xdd, 255, 255, 255, 255],
    'a map of four billion properties': [0xdf, 255, 255, 255, 255],
    'a text of four billion bytes': [0x81, 0xa1, 0x61, 0xdb, 255, 255, 255, 255],
    'four billion bytes': [0x81, 0xa1, 0x61, 0xc6, 255, 255, 255, 255],
    'a double cut short': [0x81, 0xa1, 0x61, 0xcb, 0, 0, 0],
    'a bigint cut short': [0x81, 0xa1, 0x61, 0xd3, 0, 0, 0],
  }

  test.each(Object.keys(damagedBytes))('%s is BODY_DAMAGED', (kind) => {
    expect(codeOf(() => decode(...(damagedBytes[kind] as number[])))).toBe('BODY_DAMAGED')
  })

  test('nesting beyond the limit is refused without a stack overflow', () => {
    const deep = (depth: number): number[] => [0x81, 0xa1, 0x61, ...new Uint8Array(depth).fill(0x91), 0xc0]
    expect(decode(...deep(MAX_DEPTH - 1))).toHaveProperty('a')
    expect(codeOf(() => decode(...deep(MAX_DEPTH)))).toBe('BODY_DAMAGED')
    expect(codeOf(() => msgpackFormat.decode(new Uint8Array(1_000_000).fill(0x91)))).toBe('BODY_DAMAGED')
  })

  test('a large bag does not affect the bags encoded after it', () => {
    const small = Buffer.from(msgpackFormat.encode({ a: 'b' })).toString('hex')
    msgpackFormat.encode({ text: 'é'.repeat(400_000) })
    expect(Buffer.from(msgpackFormat.encode({ a: 'b' })).toString('hex')).toBe(small)
  })
})

function decodedOrCode(bytes: Uint8Array): Bag | string {
  try {
    return msgpackFormat.decode(bytes)
  } catch {
    return codeOf(() => msgpackFormat.decode(bytes))
  }
}

function named(name: string): number[] {
  return [0xa0 | name.length, ...Buffer.from(name)]
}
