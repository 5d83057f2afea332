import { memoryShards } from 'looseleaf'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDice } from '../../day/script/dice.ts'
import { MEDIA_KINDS, type Entry, type MediaKind } from '../../kinds/entry.ts'
import { folded, termsOf } from '../../text/terms.ts'
import { editEntry, postEntry, removeEntry } from '../entries/entries.ts'
import { freshEntry } from '../entries/fresh-entry.ts'
import { addService } from '../following/commands.ts'
import { openSite, type Site } from '../site/site.ts'
import { titledAs } from './found-by.ts'
import { parseSearch, type Search } from './parse-search.ts'
import { entriesTagged, searchEntries, type Found } from './queries.ts'

let site: Site
beforeAll(async () => {
  site = await openSite({ shards: memoryShards(2), cleaner: false })
  await fillSite()
})
afterAll(() => site.close())

const WORDS = ['Fog', 'oven', 'Bréad', 'cold dough', 'cold', 'dough', 'harbour', 'ＴＲＡＩＮ', "café's"]
const TAGS = ['Bread', '#ovens', 'fog at sea']
const NAMES = ['mira', 'tom']
const TITLES = ['The Early Loaf', 'The Late Loaf', 'Harbour Notes']
/** Titles of the sources that each person publishes through. */
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  mira: ['The Early Loaf', 'Harbour Notes'],
  tom: ['The Early Loaf'],
}
/** Many times are the beginning of a day, where ranges begin and end. */
const day = (i: number): Date => new Date(Date.UTC(2026, 0, 1 + (i % 40), (i % 3) * 8))
const personIds = new Map<string, string>()
const sourceIds = new Map<string, string>()

/** Fills the site with entries of random texts, some of them edited and some removed. */
async function fillSite(): Promise<void> {
  const { data, store } = site
  const dice = createDice(7)
  const some = (items: readonly string[], most: number): string[] =>
    Array.from({ length: dice.below(most + 1) }, () => dice.pick(items))
  for (const name of NAMES) {
    const person = await data.people.insert({ name, full_name: name, bio: '', hue: 0, joined: day(0) })
    personIds.set(name, person.id)
  }
  for (const title of TITLES) {
    const source = { ...titledAs(title), about: '', known_as: [title], added: day(0) }
    sourceIds.set(title, (await data.sources.insert(source)).id)
  }
  for (const [name, titles] of Object.entries(SERVICES))
    for (const title of titles) await addService(data, personIds.get(name) ?? '', sourceIds.get(title) ?? '')
  const facts = Array.from({ length: 240 }, (_, i) => {
    const source_id = dice.below(2) === 0 ? sourceIds.get(dice.pick(TITLES)) : undefined
    const person_id =
      source_id === undefined || dice.below(2) === 0 ? personIds.get(dice.pick(NAMES)) : undefined
    return {
      title: some(WORDS, 4).join(' '),
      body: some(WORDS, 6).join(' '),
      tags: some(TAGS, 2),
      author: dice.below(5) === 0 ? 'Oven Fox' : undefined,
      link: dice.below(2) === 0 ? `https://example.org/${i}` : undefined,
      published: day(dice.below(900)),
      ...(source_id !== undefined && { source_id }),
      ...(person_id !== undefined && { person_id }),
    }
  })
  const entries = await data.entries.insertMany(
    facts.map((each) => ({ id: store.newId({}), ...freshEntry(each, each.published) })),
  )
  for (const [i, { id, person_id, source_id }] of entries.entries()) {
    if (person_id === undefined) continue
    if (i % 7 === 0) await removeEntry(data, id, person_id, day(1))
    else if (i % 3 === 0 && source_id === undefined)
      await editEntry(
        data,
        id,
        person_id,
        { title: some(WORDS, 5).join(' '), link: undefined, edition: '' },
        day(2),
      )
  }
}

/** A part of the text of a search, and whether an entry has it by its texts as they are. */
interface Part {
  readonly text: string
  /** False for a part that only narrows other ones. */
  readonly canStandAlone: boolean
  readonly holds: (entry: Entry) => boolean
}

const textsOf = ({ title, body = '', author = '', tags = [] }: Entry): readonly string[] => [
  title,
  body,
  author,
  ...tags,
]

/** Tells whether an entry is a message of a person, or an entry of a source that the person publishes through. */
function isFrom({ person_id, source_id }: Entry, name: string): boolean {
  if (source_id === undefined) return person_id === personIds.get(name)
  return (SERVICES[name] ?? []).some((title) => sourceIds.get(title) === source_id)
}

/** Cached, because it takes long. */
const wordsByText = new Map<string, readonly string[]>()
function wordsOf(text: string): readonly string[] {
  const words = wordsByText.get(text) ?? termsOf(text)
  wordsByText.set(text, words)
  return words
}

const hasWords = (entry: Entry, words: string): boolean =>
  wordsOf(words).every((word) => textsOf(entry).some((text) => wordsOf(text).includes(word)))

const parts = {
  words: (words: string): Part => ({
    text: words,
    canStandAlone: true,
    holds: (entry) => hasWords(entry, words),
  }),
  // A phrase begins and ends with whole words.
  phrase: (phrase: string): Part => ({
    text: `"${phrase}"`,
    canStandAlone: true,
    holds: (entry) =>
      hasWords(entry, phrase) && textsOf(entry).some((text) => folded(text).includes(folded(phrase))),
  }),
  tag: (tag: string): Part => ({
    text: `tag:"${tag}"`,
    canStandAlone: true,
    holds: ({ tags = [] }) =>
      tags.some((each) => folded(each).replace('#', '') === folded(tag).replace('#', '')),
  }),
  from: (name: string): Part => ({
    text: `from:${name}`,
    canStandAlone: true,
    holds: (entry) => isFrom(entry, name),
  }),
  source: (title: string): Part => ({
    text: `source:"${title}"`,
    canStandAlone: true,
    holds: ({ source_id }) => source_id === sourceIds.get(title),
  }),
  has: (media: MediaKind): Part => ({
    text: `has:${media}`,
    canStandAlone: false,
    holds: ({ media_kind }) => media_kind === media,
  }),
  since: (text: string): Part => ({
    text: `since:${text}`,
    canStandAlone: false,
    holds: ({ published }) => published >= new Date(text),
  }),
  before: (text: string): Part => ({
    text: `before:${text}`,
    canStandAlone: false,
    holds: ({ published }) => published < new Date(text),
  }),
}

/** Returns the parts of random searches, with at most one of each operator. */
function randomSearches(count: number): (readonly Part[])[] {
  const dice = createDice(11)
  const dayText = (): string => day(dice.below(40)).toISOString().slice(0, 10)
  const choices = [
    () => parts.words(dice.pick(WORDS)),
    () => parts.words(dice.pick(WORDS)),
    () => parts.phrase('cold dough'),
    () => parts.phrase(dice.pick(WORDS)),
    () => parts.phrase(`${dice.pick(WORDS)} ${dice.pick(WORDS)}`),
    () => parts.tag(dice.pick(TAGS)),
    () => parts.from(dice.pick(NAMES)),
    () => parts.source(dice.pick(TITLES)),
    () => parts.has(dice.pick(MEDIA_KINDS.slice(0, 2))),
    () => parts.since(dayText()),
    () => parts.before(dayText()),
  ]
  return Array.from({ length: count }, () => {
    const chosen = new Set(Array.from({ length: 1 + dice.below(3) }, () => dice.pick(choices)))
    return Array.from(chosen, (choose) => choose())
  })
}

/** Searches with two parts of one operator, which random ones seldom have. */
function twofoldSearches(): (readonly Part[])[] {
  const pairs = (items: readonly string[]): [string, string][] =>
    items.flatMap((a) => items.filter((b) => b !== a).map((b): [string, string] => [a, b]))
  const phrases = ['cold dough', 'fog oven', 'oven cold', 'dough fog']
  return [
    ...pairs(TAGS).map((two) => two.map(parts.tag)),
    ...pairs(phrases).map((two) => two.map(parts.phrase)),
  ]
}

/** Returns all entries, newest first. */
const allEntries = (): Promise<Entry[]> => site.data.entries.byTime.all({}, { scatter: true, order: 'desc' })

/** Returns the ids of the entries that have all parts. */
function scanFor(search: readonly Part[], entries: readonly Entry[]): string[] {
  const found = entries.filter(
    (entry) => entry.removed === undefined && search.every(({ holds }) => holds(entry)),
  )
  return found.map(({ id }) => id)
}

function searched(text: string): Search {
  const parsed = parseSearch(text)
  if (!parsed.ok) throw new Error(`${text}: ${parsed.reason}`)
  return parsed.search
}

async function pagesOf(search: Search): Promise<Extract<Found, { type: 'entries' }>[]> {
  const pages: Extract<Found, { type: 'entries' }>[] = []
  let cursor: string | undefined
  do {
    const found = await searchEntries(site.data, search, cursor)
    if (found.type !== 'entries') throw new Error(found.type)
    pages.push(found)
    cursor = found.cursor
  } while (cursor !== undefined)
  return pages
}

const idsOf = (pages: readonly { readonly items: readonly Entry[] }[]): string[] =>
  pages.flatMap(({ items }) => items.map(({ id }) => id))

test('a search finds the entries that a scan of all entries finds, in the same order', async () => {
  const entries = await allEntries()
  let matches = 0
  for (const search of [...randomSearches(90), ...twofoldSearches()]) {
    const text = search.map((part) => part.text).join(' ')
    const parsed = parseSearch(text)
    expect({ text, ok: parsed.ok }).toEqual({
      text,
      ok: search.some(({ canStandAlone }) => canStandAlone),
    })
    if (!parsed.ok) continue
    const expected = scanFor(search, entries)
    matches += expected.length
    expect({ text, ids: idsOf(await pagesOf(parsed.search)) }).toEqual({ text, ids: expected })
  }
  expect(matches).toBeGreaterThan(300)
})

test('a page of a search that checks each entry ends at its bound, and the next page goes on', async () => {
  const { data } = site
  const person_id = personIds.get('mira') as string
  for (let i = 0; i < 230; i++) await postEntry(data, { person_id, title: `lantern ${i}`, link: undefined })
  await postEntry(
    data,
    { person_id, title: 'A blue lantern', link: undefined },
    { now: new Date(Date.UTC(2020, 0)) },
  )
  const pages = await pagesOf(searched('"blue lantern"'))
  expect(pages.map(({ items }) => items.length)).toEqual([1])
  const [first, second, ...others] = await pagesOf(searched('lantern has:image'))
  expect([first?.gaveUp, first?.items, second?.gaveUp, second?.items, others]).toEqual([
    true,
    [],
    false,
    [],
    [],
  ])
})

test('a search says that a person or a source does not exist, and lists the sources that it may mean', async () => {
  const found = (text: string): Promise<Found> => searchEntries(site.data, searched(text))
  expect(await found('from:nobody fog')).toEqual({ type: 'unknown', operator: 'from' })
  expect(await found('source:nothing fog')).toEqual({ type: 'unknown', operator: 'source' })
  const loaves = await found('source:loaf fog')
  expect(loaves.type === 'sources' && loaves.sources.map(({ title }) => title).toSorted()).toEqual([
    'The Early Loaf',
    'The Late Loaf',
  ])
  expect((await found(`source:${sourceIds.get('The Late Loaf')}`)).type).toBe('entries')
})

test('a page of a tag has its entries, whatever their case and accents, and those of no other tag', async () => {
  const expected = scanFor([parts.tag('bread')], await allEntries())
  const { items } = await entriesTagged(site.data, 'BRÉAD')
  expect(items.map(({ id }) => id)).toEqual(expected.slice(0, 20))
  expect((await entriesTagged(site.data, 'brea')).items).toEqual([])
})
