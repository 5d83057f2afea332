import fc from 'fast-check'
import { expect, test } from 'vitest'
import { valueBeside } from './value-beside.ts'

test.each<[Parameters<typeof valueBeside>[0], unknown, unknown, unknown]>([
  ['time', new Date(0), new Date(-1), new Date(1)],
  ['integer', 5, 4, 6],
  ['integer', 2 ** 53 - 1, 2 ** 53 - 2, 2n ** 53n],
  ['integer', 2n ** 60n, 2n ** 60n - 1n, 2n ** 60n + 1n],
  ['number', 0, -5e-324, 5e-324],
  ['number', -0, -5e-324, 5e-324],
  ['number', 1, 1 - 2 ** -53, 1 + 2 ** -52],
  ['number', -1, -1 - 2 ** -52, -1 + 2 ** -53],
  ['number', Number.MAX_VALUE, 1.7976931348623155e308, Infinity],
  ['string', 'a\u{1f600}', 'a', 'a\u{1f600}\0'],
  ['string', '', undefined, '\0'],
  ['boolean', true, undefined, undefined],
  ['uuid', '00000000-0000-0000-0000-000000000001', undefined, undefined],
])('the values beside a %s %o are %o and %o', (type, value, below, above) => {
  expect([valueBeside(type, value, -1), valueBeside(type, value, 1)]).toEqual([below, above])
})

test('no number lies between a number and the one beside it', () => {
  const numbers = fc.double({ noNaN: true, noDefaultInfinity: true })
  fc.assert(
    fc.property(numbers, (value) => {
      const above = valueBeside('number', value, 1) as number
      expect(above).toBeGreaterThan(value)
      const middle = value / 2 + above / 2
      expect(middle <= value || middle >= above).toBe(true)
    }),
  )
})
