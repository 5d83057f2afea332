import type { Entry } from '../../kinds/entry.ts'
import { folded, termsOf } from '../../text/terms.ts'

/** Longest key of a tag, in UTF-16 units. */
const MAX_TAG_KEY = 60

/** Texts of an entry that a search looks into. */
export type SearchedTexts = Pick<Entry, 'title'> & Partial<Pick<Entry, 'body' | 'author' | 'tags'>>

/** Returns the properties by which a search finds an entry. They change whenever one of its texts does. */
export function foundBy(texts: SearchedTexts): {
  readonly terms: readonly string[]
  readonly tag_keys: readonly string[]
} {
  const tagKeys = (texts.tags ?? []).map(tagKey).filter((key) => key !== '')
  return { terms: termsOf(searchedTexts(texts).join('\n')), tag_keys: [...new Set(tagKeys)] }
}

/** Returns the texts of an entry that a search looks into, the most important first: only its first words are terms. */
export function searchedTexts({ title, body, author, tags = [] }: SearchedTexts): readonly string[] {
  return [title, ...tags, author, body].filter((text) => text !== undefined)
}

/** Returns the form of a tag in which tags are compared: without case, accents and a leading #. */
export function tagKey(tag: string): string {
  return folded(tag.replace(/^#/, '')).slice(0, MAX_TAG_KEY).toWellFormed()
}

/** Returns the title of a source with the words by which a search finds it. */
export function titledAs(title: string): { readonly title: string; readonly title_terms: readonly string[] } {
  return { title, title_terms: termsOf(title) }
}
