import * as fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800

/** Any code point but half surrogates, as `unit: 'binary'`, which first takes a second to make a map of all of them. */
export const codePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES), numberOf)

/** The inverse, from which fast-check finds out that it may try dangerous names. */
function numberOf(text: unknown): number {
  const [letter, ...others] = typeof text === 'string' ? text : ''
  if (letter === undefined || others.length > 0) throw new Error('This is no code point.')
  const point = letter.codePointAt(0) as number
  return point < FIRST_SURROGATE ? point : point - SURROGATES
}
