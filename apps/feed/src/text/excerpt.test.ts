import { expect, test } from 'vitest'
import { fromFirstMatch, markedParts } from './excerpt.ts'

const marked = (text: string, ...terms: string[]): string =>
  markedParts(text, new Set(terms))
    .map(({ text: part, isMarked }) => (isMarked ? `[${part}]` : part))
    .join('')

test('words of a search are marked whole, whatever their case and accents', () => {
  expect(marked('Café, CAFE – the cafeteria', 'cafe')).toBe('[Café], [CAFE] – the cafeteria')
  expect(marked('a <b>fog</b> & more', 'fog', 'b')).toBe('a <[b]>[fog]</[b]> & more')
  expect(marked('nothing', 'fog')).toBe('nothing')
  expect(marked('', 'fog')).toBe('')
})

test('an excerpt begins at a word a little before the first match, and a match near the beginning cuts nothing', () => {
  const text = `${'many words and '.repeat(20)}the fog comes`
  const excerpt = fromFirstMatch(text, new Set(['fog']))
  expect(excerpt).toMatch(/^…\w.* the fog comes$/)
  expect(excerpt.length).toBeLessThan(90)
  for (const whole of ['the fog comes', `${'x '.repeat(200)}`, ''])
    expect(fromFirstMatch(whole, new Set(['fog']))).toBe(whole)
})
