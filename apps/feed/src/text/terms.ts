/** Largest number of terms that are taken from a text. */
export const MAX_TERMS = 60
/** A longer word is cut to this many characters. */
const MAX_TERM_LENGTH = 30

const words = new Intl.Segmenter('en', { granularity: 'word' })

/**
 * Returns the words of a text as a search compares them: without case, accents and width, each once, in order. Languages without spaces are
 * cut into words, too. An entry has the terms of its text, and a search those of its words, so both find each other.
 */
export function termsOf(text: string, limit: number = MAX_TERMS): readonly string[] {
  const terms = new Set<string>()
  for (const { segment, isWordLike } of words.segment(folded(text))) {
    if (isWordLike !== true) continue
    terms.add(Array.from(segment).slice(0, MAX_TERM_LENGTH).join(''))
    if (terms.size === limit) break
  }
  return [...terms]
}

/** Returns a text without case, accents and width, with single spaces, for the comparison of phrases. */
export function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[’‘]/g, "'")
    .replace(/\s+/g, ' ')
    .trim()
}
