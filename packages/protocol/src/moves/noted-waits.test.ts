import { expect, test } from 'vitest'
import { waitsFromText } from './noted-waits.ts'

test('noted waits are read from their text, and other texts have none', () => {
  expect(waitsFromText('{"calls":3,"longestMs":40}')).toEqual({ calls: 3, longestMs: 40 })
  expect(waitsFromText('{"calls":-1}')).toEqual({ calls: 0, longestMs: 0 })
  expect(waitsFromText('')).toBeUndefined()
})
