import { createRandom, type Random } from '@looseleaf-tooling/random'
import { createEntry, publishedAt, withTags, type Entry } from './entry.ts'
import { makeId, refOf, userId, type Ref } from './ids.ts'
import { extrasOf, type LayoutName } from './indexes.ts'
import { zipf } from './zipf.ts'

/** What is there before anything is measured; the same for every side, in every process. */
export interface DataSetOptions {
  readonly layout: LayoutName
  readonly entries: number
  /** Each has `entries / users` of them. */
  readonly users: number
  /** Bytes of a bag; undefined: those of a feed site. */
  readonly bag: number | undefined
}

/** What calls are chosen from. */
export interface DataSet {
  readonly random: Random
  /** Made anew each time: for filling, and not within calls. */
  entry(number: number): readonly [Ref, Entry]
  anyRef(): Ref
  /** One of few. */
  hotRef(): Ref
  /** One that no call was given before, as long as there are any. */
  nextRef(): Ref
  /** The first ones far more often. */
  popularRef(): Ref
  popularUser(): string
  anyUser(): string
  /** One that is not there yet. */
  newEntry(): Entry
  /** An entry and what is to stand in its place: all is new but its user and time, so it stays in its place of the page. */
  replacement(isPopular: boolean): readonly [Ref, Entry]
}

/** Entries of the hot get. */
export const HOT = 100
const TEMPLATES = 1000
/** Entries of this number and above are made by calls; each process has a range of its own. */
const NEW = 1e8
const COLD_STEP = 7919

/** `process` numbers the processes that share a data set. */
export function openDataSet(options: DataSetOptions, process: number): DataSet {
  const { layout, entries, users, bag } = options
  const shape = { bag, extras: extrasOf(layout) }
  const random = createRandom(1 + process)
  const make = (number: number): Entry => {
    const entry = createEntry(number, userId(number % users), shape)
    return layout === 'site' || layout === 'unique' ? withTags(entry, number) : entry
  }
  // Made in advance: what an entry costs to invent is no side's.
  const templates = Array.from({ length: TEMPLATES }, (_, i) => make(NEW * (1 + process) + i))
  const popular = zipf(entries)
  const popularUser = zipf(users)
  let created = 0
  const popularNumber = (): number => (popular(random) * COLD_STEP) % entries
  let next = Math.floor((process * entries) / 8)
  const newEntry = (): Entry => {
    const number = created++
    const entry: Entry = { ...(templates[number % TEMPLATES] as Entry) }
    entry.link = `${entry.link}/${number}`
    if (layout === 'unique') entry['handle'] = `new-${process}-${number}`
    return entry
  }
  return {
    random,
    entry: (number) => [{ id: makeId(number), user: userId(number % users) }, make(number)],
    hotRef: () => refOf(random.below(Math.min(HOT, entries)), users),
    anyRef: () => refOf(random.below(entries), users),
    nextRef: () => refOf((next += COLD_STEP) % entries, users),
    popularRef: () => refOf(popularNumber(), users),
    popularUser: () => userId(popularUser(random)),
    anyUser: () => userId(random.below(users)),
    newEntry,
    replacement(isPopular) {
      const number = isPopular ? popularNumber() : random.below(entries)
      const ref = refOf(number, users)
      return [ref, { ...newEntry(), user_id: ref.user, published: publishedAt(number) }]
    },
  }
}
