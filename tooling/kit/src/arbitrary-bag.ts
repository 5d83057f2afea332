import type { Bag, PropertyValue } from '@looseleaf/core'
import * as fc from 'fast-check'
import { codePoint } from './code-point.ts'

const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: codePoint, maxLength: 80 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('', '$date', '$$', 'constructor', 'toJSON', 'x'.repeat(300), `\ufeff${'é'.repeat(40)}`),
)

const name: fc.Arbitrary<string> = text.filter((word) => word !== '__proto__')

const scalar: fc.Arbitrary<PropertyValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(NaN, Infinity, -Infinity, 2 ** 53, -(2 ** 60), 2 ** 64, 123456789012345680000),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  text,
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ maxLength: 300 }),
)

const { value } = fc.letrec<{ value: PropertyValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(name, tie('value'), { maxKeys: 20, noNullPrototype: true }),
  ),
}))

/** Every kind of bag that a store and its codecs must return unchanged; without undefined and -0. */
export const arbitraryBag: fc.Arbitrary<Bag> = fc
  .dictionary(name, value, { maxKeys: 25, noNullPrototype: true })
  .map((bag) => withoutMinusZero(bag) as Bag)

function withoutMinusZero(held: PropertyValue | Bag): PropertyValue | Bag {
  if (typeof held === 'number') return held + 0
  if (typeof held !== 'object' || held === null || held instanceof Date) return held
  if (held instanceof Uint8Array) return held
  if (Array.isArray(held))
    return held.map((element: PropertyValue) => withoutMinusZero(element) as PropertyValue)
  return Object.fromEntries(
    Object.entries(held as Bag).map(([key, inner]) => [
      key,
      withoutMinusZero(inner as PropertyValue) as PropertyValue,
    ]),
  )
}
