import { expect, test } from 'vitest'
import { withXmlCharacters } from './xml-characters.ts'

test('only characters that XML 1.0 forbids are replaced', () => {
  const allowed = '\t\n\r \u007f\u0085\u200b\ud7ff\ue000\ufffd\u{10000}\u{1fffe}\u{10ffff}<é>'
  expect(withXmlCharacters(allowed)).toBe(allowed)
  const forbidden = ['\ufffe', '\uffff', '\ud800', '\udfff', '\u0000', '\u0008', '\u000b', '\u000c', '\u001f']
  for (const char of forbidden) expect(withXmlCharacters(`a${char}b`)).toBe('a\ufffdb')
})
