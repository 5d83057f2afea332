import type { Bag } from 'looseleaf'
import type { Random } from '@looseleaf-tooling/random'

/** An entry of a feed site, as it is given to `put`: what somebody shared, with a first comment or two. */
export interface Entry extends Bag {
  user_id: string
  feed_id: string
  published: Date
  updated: Date
  title: string
  link: string
  service: { name: string; entry_type: string }
  hidden: boolean
  likes: string[]
  comments: { by: string; date: Date; body: string }[]
}

const words =
  'the a new of on and in launch photo feed paper road city summer index shard garden coffee talk team keynote river how why best early slow quiet'.split(
    ' ',
  )
const services = ['blog', 'photos', 'bookmarks', 'videos', 'messages']
const types = ['share', 'post', 'upload']

/** 1 January 2026; entries of a run are spread over the year before. */
const LATEST = Date.UTC(2026, 0, 1)
const YEAR_MS = 365 * 24 * 3_600_000

/** A made-up entry of this user. Its title, link and comments differ from one to the next in length as well. */
export function createEntry(random: Random, userId: string): Entry {
  const published = new Date(LATEST - random.below(YEAR_MS))
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

function text(random: Random, length: number): string {
  return Array.from({ length }, () => random.pick(words)).join(' ')
}
