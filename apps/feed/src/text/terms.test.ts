import { expect, test } from 'vitest'
import { folded, MAX_TERMS, termsOf } from './terms.ts'

test('terms are the words of a text, without case, accents and marks, each once', () => {
  expect(termsOf('Café, CAFE – the café’s 2nd oven!')).toEqual(['cafe', 'the', "cafe's", '2nd', 'oven'])
  expect(termsOf('ＦＵＬＬ ﬁne')).toEqual(['full', 'fine'])
})

test('a text without spaces is cut into words', () => {
  expect(termsOf('今日は良い天気です')).toContain('今日')
})

test('a long word is cut between characters, and a long text has a bounded number of terms', () => {
  expect(termsOf('a'.repeat(500))).toEqual(['a'.repeat(30)])
  expect(termsOf(Array.from({ length: 500 }, (_, i) => `word${i}`).join(' '))).toHaveLength(MAX_TERMS)
  expect(termsOf(' … — ')).toEqual([])
})

test('phrases are compared without case, accents and line breaks', () => {
  expect(folded(' Déjà\n vu ')).toBe('deja vu')
})
