import { compareKeys } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { expect, it } from 'vitest'
import { keyIdentity } from './key-identity.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
/** Keys of one index: the same kinds of values in the same columns. */
const key = fc.tuple(
  fc.uint8Array({ maxLength: 2, max: 2 }),
  fc.integer({ min: -2, max: 2 }),
  fc.bigInt({ min: -2n, max: 2n }),
)

it('two keys have one identity exactly if they are equal', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(keyIdentity(a) === keyIdentity(b)).toBe(compareKeys(a, b, [1, 1, 1]) === 0)
    }),
    { numRuns: runsOf(1000) },
  )
  expect(keyIdentity([bytes(49), bytes()])).not.toBe(keyIdentity([bytes(), bytes(49)]))
  expect(keyIdentity([0])).toBe(keyIdentity([-0]))
})
