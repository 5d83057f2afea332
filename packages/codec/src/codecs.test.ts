import { deepStrictEqual } from 'node:assert/strict'
import type { Bag, Codec } from '@looseleaf/core'
import { codecContract } from '@looseleaf/testkit'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import * as vitest from 'vitest'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { bodyOfArrays, jsonBombs, msgpackBombs } from '../test/bombs.ts'
import { tunedEnvelopeCodec } from './envelope-codec.ts'
import { envelopeCodec, jsonCodec, jsonFormat, jsonZlibCodec, msgpackZlibCodec } from './index.ts'

// These two codecs cover both formats, with and without compression. The variants below combine the same parts.
codecContract(vitest, 'msgpackZlibCodec', msgpackZlibCodec, {
  bodyOfArrays: (count) => bodyOfArrays(msgpackBombs, count),
})
codecContract(vitest, 'jsonCodec', jsonCodec, { bodyOfArrays: (count) => bodyOfArrays(jsonBombs, count) })

const variants: readonly (readonly [string, Codec])[] = [
  ['jsonZlibCodec', jsonZlibCodec()],
  ['an envelope codec without compression', envelopeCodec({ compression: 'none' })],
  ['an envelope codec that tries to compress everything', tunedEnvelopeCodec({}, 0)],
  [
    'an envelope codec that reads and writes only one format, with a small limit',
    envelopeCodec({ format: jsonFormat, alsoReads: [], maxBodyBytes: 4_000_000 }),
  ],
]

describe.each(variants)('%s', (_, codec) => {
  const bags: readonly Bag[] = [
    {},
    { title: 'A', at: new Date(5), serial: 5n, hash: new Uint8Array(20), tags: ['x', 'é'] },
    { text: 'It was stored, and it came back. '.repeat(35), rows: [7, 7, 7] },
  ]

  test('every bag comes back', () => {
    fc.assert(
      fc.property(arbitraryBag, (bag) => expectRoundTrip(codec, bag)),
      { numRuns: runsOf(20) },
    )
  })

  test('a body cut short at any byte, or with any bit changed, is refused', () => {
    for (const body of bags.map((bag) => codec.encode(bag))) {
      for (let length = 0; length < body.length; length++) expectRefusal(codec, body.subarray(0, length))
      for (let bit = 0; bit < body.length * 8; bit++) {
        const changed = Uint8Array.from(body)
        changed[bit >> 3]! ^= 1 << (bit & 7)
        expectRefusal(codec, changed)
      }
    }
  })

  test('a bag above maxBodyBytes is BODY_TOO_LARGE', () => {
    // The limit applies to the encoded form, although zlib would make it small.
    const bytes = new Uint8Array(9_000_000)
    expect(codeOf(() => codec.encode({ bytes }))).toBe('BODY_TOO_LARGE')
  })
})

function expectRoundTrip(codec: Codec, bag: Bag): void {
  deepStrictEqual(codec.decode(codec.encode(bag)), bag)
}

function expectRefusal(codec: Codec, body: Uint8Array): void {
  const code = codeOf(() => codec.decode(body))
  // A changed body may have an unknown format. `expect` would take longer than the decoding.
  if (code !== 'BODY_DAMAGED' && code !== 'BODY_UNKNOWN') throw new Error(`Refused, but as ${code}.`)
}
