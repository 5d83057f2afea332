import { parseId } from '@looseleaf/core'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { describe, expect, test } from 'vitest'
import { leastCommonMultiple, remainderOf, withRemainder } from './remainder.ts'

function integerOf(id: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(id).toString('hex')}`)
}

describe('remainderOf', () => {
  test('remainderOf takes the remainder of all 128 bits', () => {
    const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 })
    fc.assert(
      fc.property(bytes16, fc.integer({ min: 1, max: 2 ** 36 }), (id, divisor) => {
        expect(remainderOf(id, divisor)).toBe(Number(integerOf(id) % BigInt(divisor)))
      }),
    )
  })
})

describe('withRemainder', () => {
  const tails = fc.constantFrom(
    '8000-000000000000',
    '9abc-0123456789ab',
    'bfff-fffffffffffe',
    'bfff-ffffffffffff',
  )

  test('withRemainder keeps time, version and variant, and changes the rest by less than the divisor', () => {
    fc.assert(
      fc.property(tails, fc.integer({ min: 1, max: 2 ** 33 }), fc.nat(), (tail, divisor, any) => {
        const remainder = any % divisor
        const before = parseId(`0192f0c1-7c1e-7abc-${tail}`)
        const after = withRemainder(Uint8Array.from(before), remainder, divisor)
        expect(remainderOf(after, divisor)).toBe(remainder)
        expect([...after.subarray(0, 8)]).toEqual([...before.subarray(0, 8)])
        expect((after[8] as number) >> 6).toBe(2)
        const moved = integerOf(after) - integerOf(before)
        expect(moved < BigInt(divisor) && moved > -BigInt(divisor)).toBe(true)
      }),
      { numRuns: runsOf(500) },
    )
  })
})

describe('leastCommonMultiple', () => {
  test.each([
    [1, 1, 1],
    [4, 6, 12],
    [720_720, 16, 720_720],
    [720_720, 4093, 720_720 * 4093],
  ])('the least common multiple of %i and %i is %i', (a, b, multiple) => {
    expect(leastCommonMultiple(a, b)).toBe(multiple)
  })
})
