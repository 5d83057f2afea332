import { deriveId, type Bag } from 'looseleaf'
import { likeId, sourceId } from '../model/ids.ts'
import { namesOfSource } from '../model/save-sources.ts'
import { fractionOf, shuffled } from './fraction.ts'
import type { Sample, SampleEntry } from './sample-types.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** The oldest entry is about this old, and the newest a few minutes: most of them are from the last days. */
const OLDEST = 75 * DAY

/**
 * The sample as bags with ids, at times counted back from `now`, so that the site looks alive whenever it is started.
 * The ids are always the same: seeding a second time would write the same entities again.
 */
export function sampleBags(sample: Sample, now: Date): Bag[] {
  const userIds = new Map(
    sample.people.map((person) => [person.name, deriveId('sample person', person.name)]),
  )
  const idOf = (name: string): string => {
    const id = userIds.get(name)
    if (id === undefined) throw new TypeError(`The sample names ${name}, who is not among its people.`)
    return id
  }
  const people = sample.people.map((person, i) => ({
    id: idOf(person.name),
    kind: 'person',
    ...person,
    joined: new Date(now.getTime() - OLDEST - (sample.people.length - i) * 3 * DAY),
  }))
  const sources = sample.sources.map(({ key, by, ...about }, i) => {
    const source = { ...about, user_id: idOf(by) }
    const known_as = namesOfSource(source)
    const added = new Date(now.getTime() - OLDEST + i * 5 * DAY)
    return {
      id: sourceId(known_as[0] as string),
      key,
      by,
      bag: { kind: 'source', ...source, known_as, added },
    }
  })
  const entries = shuffled(sample.entries, (entry) => `${entry.by ?? entry.source} ${entry.title}`)
  const bags: Bag[] = [...people, ...sources.map(({ id, bag }) => ({ id, ...bag }))]
  entries.forEach((entry, i) => {
    const age = 3 * MINUTE + OLDEST * ((i + 0.3) / entries.length) ** 1.9
    const source = sources.find(({ key }) => key === entry.source)
    const by = entry.by ?? source?.by
    if (by === undefined) throw new TypeError(`The sample has an entry of nobody: ${entry.title}`)
    const published = new Date(now.getTime() - age)
    bags.push(...entryBags(entry, { user_id: idOf(by), source_id: source?.id, published, now, userIds }))
  })
  return bags
}

interface Place {
  readonly user_id: string
  readonly source_id: string | undefined
  readonly published: Date
  readonly now: Date
  readonly userIds: ReadonlyMap<string, string>
}

function entryBags(entry: SampleEntry, place: Place): Bag[] {
  const { user_id, source_id, published, now, userIds } = place
  const id = deriveId('sample entry', [user_id, entry.title])
  const { title, body, link } = entry
  const at = (minutes: number): Date => new Date(published.getTime() + minutes * MINUTE)
  let minutes = 0
  const comments = (entry.comments ?? []).map(([name, text], i) => {
    const commenter = userIds.get(name)
    if (commenter === undefined) {
      throw new TypeError(`The sample has a comment by ${name}, who is not among its people.`)
    }
    minutes += 3 + 40 * fractionOf(text) ** 2
    const commentId = deriveId('sample comment', [id, i], { near: id })
    return { id: commentId, kind: 'comment', entry_id: id, user_id: commenter, text, commented: at(minutes) }
  })
  const fans = shuffled(
    [...userIds.values()].filter((fan) => fan !== user_id),
    (fan) => `${fan} ${title}`,
  ).slice(0, entry.likes ?? 0)
  const likes = fans.map((fan) => {
    const liked = at(1 + 1000 * fractionOf(`${title} ${fan}`) ** 3)
    return { id: likeId(id, fan), kind: 'like', entry_id: id, user_id: fan, liked }
  })
  return [
    { id, kind: 'entry', title, body, link, user_id, source_id, published },
    // What would be said of the newest entries only later has not been said yet.
    ...comments.filter(({ commented }) => commented < now),
    ...likes.filter(({ liked }) => liked < now),
  ]
}
