import { deepStrictEqual } from 'node:assert/strict'
import type { Bag } from '@looseleaf/core'
import { decode as decodeElsewhere } from '@msgpack/msgpack'
import * as fc from 'fast-check'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { arbitraryBag } from '@looseleaf-tooling/kit/arbitrary-bag'
import { isLong, someOf } from '@looseleaf-tooling/vitest/long'
import { msgpackFormat } from './index.ts'

// The checksum of a body finds most damage before the format does, so these tests leave it out.

const BAGS = 100
// In a short run; a long run cuts all bags.
const CUT_BAGS = 10
const FLIPS = isLong ? 100_000 : 4_000
const SEED = 2009

const packed = fc
  .sample(arbitraryBag, { seed: SEED, numRuns: BAGS })
  .map((bag) => Uint8Array.from(msgpackFormat.encode(bag)))
  .filter(({ length }) => length < 5_000)

/** Decodes a bag; undefined if it is BODY_DAMAGED. Any other error fails the test. */
function read(bytes: Uint8Array): Bag | undefined {
  try {
    return msgpackFormat.decode(bytes)
  } catch (error) {
    const code = codeOf(() => {
      throw error
    })
    if (code === 'BODY_DAMAGED') return undefined
    throw error
  }
}

describe('msgpack without the checksum around it', () => {
  test('another MessagePack library reads intact bytes as the same bag', () => {
    expect.assertions(packed.length)
    for (const bytes of packed) {
      expect(msgpackFormat.encode(decodeElsewhere(bytes, { useBigInt64: true }) as Bag)).toEqual(
        Buffer.from(bytes),
      )
    }
  })

  test('bytes cut short anywhere are BODY_DAMAGED', () => {
    const accepted = someOf(packed, CUT_BAGS).flatMap((bytes) =>
      Array.from({ length: bytes.length }, (_, length) => bytes.subarray(0, length)).filter(read),
    )
    expect(accepted).toEqual([])
  })

  test(`${FLIPS} random bit flips are BODY_DAMAGED, or read as by another MessagePack library`, () => {
    const positions = fc.sample(fc.tuple(fc.nat(), fc.nat()), { seed: SEED, numRuns: FLIPS })
    let refused = 0
    let accepted = 0
    for (const [sample, position] of positions) {
      const bytes = Uint8Array.from(packed[sample % packed.length] as Uint8Array)
      const bit = position % (bytes.length * 8)
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      const bag = read(bytes)
      if (bag === undefined) refused++
      else {
        accepted++
        deepStrictEqual(bag, decodeElsewhere(bytes, { useBigInt64: true }))
      }
    }
    expect(Math.min(refused, accepted)).toBeGreaterThan(FLIPS / 10)
  })
})
