import { expect, test } from 'vitest'
import { hueOf, initialsOf } from './avatar.tsx'

test.each([
  ['Mira Saltmarsh', 'MS'],
  ['inês', 'I'],
  ['The Quiet Hour', 'TH'],
  ['14b', '1'],
  ['«Émile» de la Ö', 'ÉÖ'],
  ['日本 新聞', '日新'],
  ['!?', '?'],
  ['', '?'],
])('%s has the initials %s', (label, initials) => {
  expect(initialsOf(label)).toBe(initials)
})

test('a hue depends on the text alone and is between 0 and 359', () => {
  expect(hueOf('Plot 14b')).toBe(hueOf('Plot 14b'))
  for (const text of ['', 'a', 'x'.repeat(1000)])
    expect(hueOf(text)).toSatisfy((hue: number) => hue >= 0 && hue < 360)
})
