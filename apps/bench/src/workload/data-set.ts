import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { asJob, createEntry, publishedAt, withTags, type Entry } from './entry.ts'
import { placedId, refOf, userId, type Ref } from './ids.ts'
import { extrasOf, isQueue, type LayoutName } from './indexes.ts'
import { zipf } from './zipf.ts'

/** The data that is stored before measuring. It is the same for all sides and processes. */
export interface DataSetOptions {
  readonly layout: LayoutName
  readonly entries: number
  /** Number of users. Each has `entries / users` entries. */
  readonly users: number
  /** Approximate bytes of a bag. If undefined, bags are those of a feed site. */
  readonly bag: number | undefined
}

/** Chooses the arguments of calls. */
export interface DataSet {
  readonly random: Random
  /** Creates entry number `number`. For filling: within a call, its cost would be measured. In a layout with places only this call has the ids. */
  entry(number: number): readonly [Ref, Entry]
  anyRef(): Ref
  /** Returns one of the first hundred entries. */
  hotRef(): Ref
  /** Returns each entry once before any is repeated. */
  nextRef(): Ref
  /** Returns few entries far more often than others (Zipf). */
  popularRef(): Ref
  /** Returns few users far more often than others (Zipf). */
  popularUser(): string
  anyUser(): string
  /** Returns an entry that is not stored yet. */
  newEntry(): Entry
  /** Returns an entry's ref and a new content for it. User and time stay, so the entry keeps its position in pages. */
  replacement(isPopular: boolean): readonly [Ref, Entry]
}

/** Number of entries that `hotRef` chooses from. */
export const HOT = 100
const TEMPLATES = 1000
/** New entries have numbers from here on. Each process has its own range of this size. */
const NEW = 1e8
/** A prime, so that steps of this size visit all entries in scattered order. */
const COLD_STEP = 7919

/** Opens a data set. `process` is the number of this process among those that share it. */
export function openDataSet(options: DataSetOptions, process: number): DataSet {
  const { layout, entries, users, bag } = options
  const shape = { bag, extras: extrasOf(layout) }
  const random = createRandom(1 + process)
  const make = (number: number): Entry => {
    const entry = createEntry(number, userId(number % users), shape)
    if (isQueue(layout)) return asJob(entry, number)
    return layout === 'site' || layout === 'unique' ? withTags(entry, number) : entry
  }
  // Created in advance: creating an entry must not count as part of a call.
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
    entry: (number) => [{ id: placedId(number, users, layout), user: userId(number % users) }, make(number)],
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
