import { isId, type Condition } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { folded, termsOf } from '../../text/terms.ts'
import { personByName } from '../accounts/people.ts'
import { serviceIdsOf } from '../following/queries.ts'
import type { List } from '../site/lists.ts'
import { readThing, SKIP, Unreadable } from '../site/partial-reads.ts'
import { searchedTexts, tagKey } from './found-by.ts'
import type { Search } from './parse-search.ts'

/** Entries that a page looks at before it filters them. A page that filters has up to twice as many. */
const PER_READ = 20
/** Largest number of reads for a page whose filter leaves few entries. */
const MAX_READS = 10
/** Bounds of a range without one. */
const FIRST_TIME = new Date('0001-01-01')
const LAST_TIME = new Date('9999-12-31')
/** Largest number of sources to choose from. */
const MAX_SOURCES = 12

/** The result of a search. */
export type Found =
  | ({
      readonly type: 'entries'
      /** True if the page looked at many entries and found few, so more may follow. */
      readonly gaveUp: boolean
    } & List<Entry>)
  /** A person or a source of the search does not exist. */
  | { readonly type: 'unknown'; readonly operator: 'from' | 'source' }
  /** Several sources have the words of the search in their titles. */
  | { readonly type: 'sources'; readonly sources: readonly Source[] }

/**
 * Returns a page of the entries that match a search, newest first. Entries on shards that do not answer are left out; rejects with `Unreadable`
 * if the person or the source of the search may be on one. Words, tags, person and source are ranges of indexes, which are
 * read together. Phrases and media are checked on each entry, so the page reads on until it has enough, up to a bound.
 */
export async function searchEntries(data: SiteData, search: Search, after?: string): Promise<Found> {
  const [channels, sources] = await Promise.all([
    search.from === undefined ? undefined : channelsFrom(data, search.from),
    search.source === undefined ? undefined : sourcesTitled(data, search.source),
  ])
  if (channels?.length === 0) return { type: 'unknown', operator: 'from' }
  if (sources?.length === 0) return { type: 'unknown', operator: 'source' }
  if (sources !== undefined && sources.length > 1) return { type: 'sources', sources }
  const read = readerOf(data, search, channels, sources?.[0])
  const isMatch = filterOf(search)
  const items: Entry[] = []
  const first = await read(after)
  let page = first
  for (let reads = 1; ; reads++) {
    items.push(...page.items.filter(isMatch))
    const gaveUp = reads === MAX_READS && items.length < PER_READ
    if (page.cursor === undefined || gaveUp || items.length >= PER_READ) {
      // A page that filters does not know where the page before it began.
      const previous = isFiltering(search) ? undefined : first.previous
      return {
        type: 'entries',
        items,
        cursor: page.cursor,
        previous,
        gaveUp: gaveUp && page.cursor !== undefined,
      }
    }
    page = await read(page.cursor)
  }
}

/** Returns the newest entries with a tag. */
export function entriesTagged({ entries }: SiteData, tag: string, cursor?: string): Promise<List<Entry>> {
  return entries.byTag.page({ tag_keys: tagKey(tag) }, { order: 'desc', limit: PER_READ, cursor, ...SKIP })
}

/** Returns the channels whose entries are from a person: the person, and the sources that the person publishes through; none without a person. */
async function channelsFrom(data: SiteData, name: string): Promise<readonly string[]> {
  const person = await personByName(data, name.replace(/^@/, ''))
  return person === undefined ? [] : [person.id, ...(await serviceIdsOf(data, person.id))]
}

/**
 * Returns the sources with these words in their titles, newest first: the only one with exactly this title if there is one. A title that
 * is the id of a source stands for this source.
 */
async function sourcesTitled({ sources }: SiteData, title: string): Promise<readonly Source[]> {
  const terms = termsOf(title, 8)
  if (isId(title)) {
    const source = await readThing(sources, title, 'source')
    return source === undefined ? [] : [source]
  }
  if (terms.length === 0) return []
  const conditions = terms.map((term) => sources.byTitleTerm.condition({ title_terms: term }))
  const { items, cost } = await sources.intersect(conditions, { order: 'desc', limit: MAX_SOURCES, ...SKIP })
  if (items.length === 0 && cost.missingShards !== undefined) throw new Unreadable('source')
  const exact = items.filter((source) => folded(source.title) === folded(title))
  return exact.length === 1 ? exact : items
}

type Read = (cursor: string | undefined) => Promise<List<Entry>>

/** Returns a function that reads the entries of all conditions of a search. */
function readerOf(
  { entries }: SiteData,
  { terms, tags, since, before }: Search,
  channels: readonly string[] | undefined,
  source: Source | undefined,
): Read {
  const hasRange = since !== undefined || before !== undefined
  const range = hasRange ? { published: { gte: since ?? FIRST_TIME, lt: before ?? LAST_TIME } } : {}
  const conditions: Condition<Omit<Entry, 'id' | 'version'>>[] = [
    ...terms.map((term) => entries.byTerm.condition({ terms: term, ...range }, { scatter: true })),
    ...tags.map((tag) => entries.byTag.condition({ tag_keys: tag, ...range })),
  ]
  if (channels !== undefined)
    conditions.push(entries.byPublisher.condition({ publisher_id: { in: channels }, ...range }))
  if (source !== undefined)
    conditions.push(entries.byPublisher.condition({ publisher_id: source.id, ...range }))
  const [term] = terms
  // Rows of one term are on the shards of their entries, so a page of them needs fewer statements than an intersection.
  if (term !== undefined && conditions.length === 1) {
    return (cursor) =>
      entries.byTerm.page(
        { terms: term, ...range },
        { order: 'desc', limit: PER_READ, cursor, scatter: true, ...SKIP },
      )
  }
  return (cursor) => entries.intersect(conditions, { order: 'desc', limit: PER_READ, cursor, ...SKIP })
}

const isFiltering = ({ phrases, media }: Search): boolean => phrases.length > 0 || media !== undefined

function filterOf({ phrases, media }: Search): (entry: Entry) => boolean {
  return (entry) => {
    if (media !== undefined && entry.media_kind !== media) return false
    if (phrases.length === 0) return true
    const texts = searchedTexts(entry).map(folded)
    return phrases.every((phrase) => texts.some((text) => text.includes(phrase)))
  }
}
