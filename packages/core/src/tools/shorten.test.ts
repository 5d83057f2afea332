import { expect, test } from 'vitest'
import { shorten } from './shorten.ts'

test.each([
  ['the server', 10, 'the server'],
  ['the server is away', 10, 'the serve…'],
  ['the server is away', 12, 'the server …'],
  ['the server is away', 13, 'the server …'],
  ['127.0.0.1:17632/looseleaf', 10, '127.0.0.1…'],
  ['a 127.0.0.1:17632/looseleaf', 10, 'a 127.0.0…'],
  ['abcdefgh😀 is away', 10, 'abcdefgh…'],
])('a shortened text ends after a whole word: %s to %i', (text, length, expected) => {
  expect(shorten(text, length)).toBe(expected)
  expect(expected.length).toBeLessThanOrEqual(length)
})
