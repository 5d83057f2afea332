import { expect, test } from 'vitest'
import { isolated } from './isolated.ts'

test.each(['سلمى (١)', 'שלום', 'A name with שלום in it', '\u202ereversed'])(
  'the text %j from right to left stands between marks',
  (text) => {
    expect(isolated(text)).toBe(`\u2068${text}\u2069`)
  },
)

test.each(['', 'Mira Saltmarsh', 'Žofie “Zuzana”', '日本語 🦉'])('the text %j stays as it is', (text) => {
  expect(isolated(text)).toBe(text)
})
