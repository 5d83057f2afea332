import { MEDIA_KINDS, type MediaKind } from '../../kinds/entry.ts'
import { folded, termsOf } from '../../text/terms.ts'
import { tagKey } from './found-by.ts'
import { isolated } from '../../text/isolated.ts'

/** Words, tags and names of a search that are looked up; each is a range of an index. */
export const MAX_SEARCH_TERMS = 8
export const MAX_SEARCH_LENGTH = 200

/** A search as it was understood. */
export interface Search {
  /** Words that an entry has to have, those of the phrases included. */
  readonly terms: readonly string[]
  /** Folded texts that an entry has to contain as they are. */
  readonly phrases: readonly string[]
  /** Names of a person. */
  readonly from: string | undefined
  /** Words of the title of a source. */
  readonly source: string | undefined
  /** Folded tags. */
  readonly tags: readonly string[]
  readonly media: MediaKind | undefined
  /** Entries from this time on, and those before this time. */
  readonly since: Date | undefined
  readonly before: Date | undefined
}

export type ParsedSearch =
  | { readonly ok: true; readonly search: Search }
  /** The reason is a sentence for the person who searches. */
  | { readonly ok: false; readonly reason: string }

const PART = /([a-z]+):(?:"([^"]*)"?|([^\s"]*))|"([^"]*)"?|(\S+)/giu
const OPERATORS = ['from', 'source', 'tag', 'has', 'before', 'since'] as const
type Operator = (typeof OPERATORS)[number]

/** Reads the text of a search: words, "exact phrases", and operators such as `from:mira`. */
export function parseSearch(text: string): ParsedSearch {
  if (text.length > MAX_SEARCH_LENGTH)
    return refused(`A search has at most ${MAX_SEARCH_LENGTH} characters; this one has ${text.length}.`)
  const words: string[] = []
  const phrases: string[] = []
  const tags = new Set<string>()
  const given = new Map<Operator, string>()
  for (const [whole, name, quotedValue, plainValue, phrase] of text.replace(/[“”„]/g, '"').matchAll(PART)) {
    const operator = OPERATORS.find((one) => one === name?.toLowerCase())
    if (operator === undefined) {
      // Other words with a colon, such as an address, are searched as they are.
      words.push(phrase ?? whole)
      if (phrase !== undefined && folded(phrase) !== '') phrases.push(folded(phrase))
      continue
    }
    const value = (quotedValue ?? plainValue ?? '').trim()
    if (value === '') return refused(`${operator}: needs a value, such as ${EXAMPLES[operator]}.`)
    if (operator === 'tag') {
      if (tagKey(value) === '') return refused(`tag: needs a value, such as ${EXAMPLES.tag}.`)
      tags.add(tagKey(value))
    } else if (given.has(operator)) return refused(`A search has one ${operator}: at most.`)
    else given.set(operator, value)
  }
  const media = given.get('has')?.toLowerCase()
  if (media !== undefined && !isMedia(media))
    return refused(`has: takes ${MEDIA_KINDS.join(', ')}; got “${isolated(media.slice(0, 30))}”.`)
  const since = dayOf(given.get('since'))
  const before = dayOf(given.get('before'))
  for (const [operator, day] of [
    ['since', since],
    ['before', before],
  ] as const)
    if (day === 'invalid')
      return refused(
        `${operator}: takes a day such as 2026-11-26; got “${isolated((given.get(operator) ?? '').slice(0, 30))}”.`,
      )
  const terms = termsOf(words.join(' '), Infinity)
  const parts = terms.length + tags.size + Number(given.has('from')) + Number(given.has('source'))
  if (parts > MAX_SEARCH_TERMS) {
    return refused(`A search has at most ${MAX_SEARCH_TERMS} words, tags and names; this one has ${parts}.`)
  }
  const search = {
    terms,
    phrases,
    from: given.get('from'),
    source: given.get('source'),
    tags: [...tags],
    media,
    since: since as Date | undefined,
    before: before as Date | undefined,
  }
  const isEmpty = terms.length + tags.size === 0 && search.from === undefined && search.source === undefined
  if (isEmpty) return refused('Give a word, a tag, a person or a source to search for.')
  return { ok: true, search }
}

const EXAMPLES: Readonly<Record<Operator, string>> = {
  from: 'from:mira',
  source: 'source:"The Early Loaf"',
  tag: 'tag:bread',
  has: 'has:image',
  before: 'before:2026-11-26',
  since: 'since:2026-11-26',
}

const refused = (reason: string): ParsedSearch => ({ ok: false, reason })

const isMedia = (text: string): text is MediaKind => MEDIA_KINDS.some((kind) => kind === text)

/** Returns the beginning of a day in UTC. */
function dayOf(text: string | undefined): Date | 'invalid' | undefined {
  if (text === undefined) return undefined
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return 'invalid'
  const day = new Date(`${text}T00:00:00Z`)
  // Node takes February 30 for March 2.
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? day : 'invalid'
}
