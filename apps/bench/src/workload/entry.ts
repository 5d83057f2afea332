import type { Bag } from 'looseleaf'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'

/** An entry of a feed site: a shared link with a few likes and at most one comment. */
export interface Entry extends Bag {
  user_id: string
  published: Date
  title: string
  link: string
}

const words =
  'the a new of on and in launch photo feed paper road city summer index shard garden coffee talk team keynote river how why best early slow quiet'.split(
    ' ',
  )
const services = ['blog', 'photos', 'bookmarks', 'videos', 'messages']
const types = ['share', 'post', 'upload']

/** 1 January 2026. Entries are spread over the year before. */
const LATEST = Date.UTC(2026, 0, 1)
const YEAR_MS = 365 * 24 * 3_600_000
/** Bytes as msgpack of a bag with a user's id, a time, a link and an empty title. */
const SMALLEST = 80
export const TAGS = 200

/** Size and extra properties of created entries. */
export interface EntryShape {
  /** Approximate bytes of the bag as msgpack. If undefined, entries are like those of a feed site, some 420 bytes. */
  readonly bag: number | undefined
  /** Number of additional properties `p0`, `p1` …, for additional indexes. */
  readonly extras: number
}

/** Creates entry number `number`, the same each time. Titles, links and comments vary in length between entries. */
export function createEntry(number: number, userId: string, { bag, extras }: EntryShape): Entry {
  const random = createRandom(number)
  const published = publishedOf(random)
  const entry =
    bag === undefined ? feedEntry(random, userId, published) : sizedEntry(random, userId, published, bag)
  for (let i = 0; i < extras; i++) entry[`p${i}`] = `value ${random.below(1_000_000)}`
  return entry
}

/** Has to be the first draw from an entry's random numbers, because `publishedAt` repeats it alone. */
function publishedOf(random: Random): Date {
  return new Date(LATEST - random.below(YEAR_MS))
}

/** Returns the publication time of entry number `number` without creating the entry. */
export const publishedAt = (number: number): Date => publishedOf(createRandom(number))

/** Adds up to three of 200 tags and a unique handle, for the indexes over them. */
export function withTags(entry: Entry, number: number): Entry {
  const random = createRandom(number + 1)
  return {
    ...entry,
    tags: [...new Set(Array.from({ length: 3 }, () => tag(random.below(TAGS))))],
    handle: `entry-${number}`,
  }
}

/** Number of stripes of the queue. */
export const STRIPES = 128

export const stripe = (number: number): string => `stripe ${number % STRIPES}`

/** Makes a job of an entry: its stripe, and a time from which it is due, which has passed. */
export const asJob = (entry: Entry, number: number): Entry => ({
  ...entry,
  stripe: stripe(number),
  due: entry.published,
})

export const tag = (number: number): string => `tag ${number}`

function feedEntry(random: Random, userId: string, published: Date): Entry {
  return {
    user_id: userId,
    feed_id: random.uuid(),
    published,
    updated: published,
    title: text(random, 5 + random.below(12)),
    link: `https://example.com/${random.pick(services)}/${random.uuid()}`,
    service: { name: random.pick(services), entry_type: random.pick(types) },
    hidden: false,
    likes: Array.from({ length: random.below(3) }, () => random.uuid()),
    comments: Array.from({ length: random.below(2) }, () => ({
      by: random.uuid(),
      date: published,
      body: text(random, 4 + random.below(8)),
    })),
  }
}

function sizedEntry(random: Random, userId: string, published: Date, bytes: number): Entry {
  const entry: Entry = { user_id: userId, published, title: '', link: `l/${random.below(1e6)}` }
  const rest = Math.max(0, bytes - SMALLEST)
  return rest === 0 ? entry : { ...entry, body: text(random, Math.ceil(rest / 5)).slice(0, rest) }
}

function text(random: Random, length: number): string {
  return Array.from({ length }, () => random.pick(words)).join(' ')
}
