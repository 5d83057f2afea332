import { termsOf } from './terms.ts'

const words = new Intl.Segmenter('en', { granularity: 'word' })
/** Characters before the first marked word of an excerpt. */
const LEAD = 60

/** A part of a text. */
export interface TextPart {
  readonly text: string
  /** True for a word that was searched for. */
  readonly isMarked: boolean
}

/** Cuts a text into parts that are words of `terms`, and the parts between them. Together they are the text. */
export function markedParts(text: string, terms: ReadonlySet<string>): readonly TextPart[] {
  const parts: TextPart[] = []
  let plain = ''
  for (const { segment, isWordLike } of words.segment(text)) {
    // A word may fold into several terms, or into none.
    const isMarked = isWordLike === true && termsOf(segment).some((term) => terms.has(term))
    if (!isMarked) {
      plain += segment
      continue
    }
    if (plain !== '') parts.push({ text: plain, isMarked: false })
    parts.push({ text: segment, isMarked: true })
    plain = ''
  }
  if (plain !== '') parts.push({ text: plain, isMarked: false })
  return parts
}

/**
 * Returns the part of a text that begins a little before its first word of `terms`, with an ellipsis. Returns the whole text if this word
 * is near its beginning, or if it has none.
 */
export function fromFirstMatch(text: string, terms: ReadonlySet<string>): string {
  const [first, second] = markedParts(text, terms)
  if (first === undefined || second === undefined || first.isMarked || first.text.length <= 2 * LEAD)
    return text
  const lead = first.text.slice(-LEAD)
  const space = lead.search(/\s/)
  return `…${lead.slice(space + 1).toWellFormed()}${text.slice(first.text.length)}`
}
