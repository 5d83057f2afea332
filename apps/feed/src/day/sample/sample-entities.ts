import { deriveId } from 'looseleaf'
import type { Comment } from '../../kinds/comment.ts'
import type { Entry } from '../../kinds/entry.ts'
import { followId, type Follow } from '../../kinds/follow.ts'
import type { Like } from '../../kinds/like.ts'
import type { Person } from '../../kinds/person.ts'
import { serviceId, type Service } from '../../kinds/service.ts'
import type { Source } from '../../kinds/source.ts'
import { freshEntry } from '../../domain/entries/fresh-entry.ts'
import { titledAs } from '../../domain/search/found-by.ts'
import { likeId, sourceId } from '../../kinds/ids.ts'
import { namesOfFile } from '../../domain/sources/source-names.ts'
import { fractionOf, shuffled } from './fraction.ts'
import type { Sample, SampleEntry } from './sample-types.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** Age of the oldest entry. The newest is a few minutes old, and most are from the last days. */
const OLDEST = 75 * DAY
/** Other sample people that each one follows. */
const FOLLOWED_PEOPLE = 14

/** The sample as entities to write. */
export interface SampleEntities {
  readonly people: readonly New<Person>[]
  readonly sources: readonly New<Source>[]
  readonly entries: readonly New<Entry>[]
  readonly comments: readonly New<Comment>[]
  readonly likes: readonly New<Like>[]
  readonly services: readonly New<Service>[]
  readonly follows: readonly New<Follow>[]
}

const personId = (name: string): string => deriveId('sample person', name)
const entryId = (person_id: string, title: string): string => deriveId('sample entry', [person_id, title])

/** Returns the id of a sample entry by its title and the name of its person. */
export const sampleEntryId = (name: string, title: string): string => entryId(personId(name), title)

type New<Entity> = Omit<Entity, 'version'>

/**
 * Converts the sample to entities. Times count back from `now`, so that a new site always looks alive. Ids are fixed, so seeding twice
 * would write the same entities again.
 */
export function sampleEntities(sample: Sample, now: Date): SampleEntities {
  const personIds = new Map(sample.people.map((person) => [person.name, personId(person.name)]))
  const idOf = (name: string): string => {
    const id = personIds.get(name)
    if (id === undefined) throw new TypeError(`The sample names ${name}, who is not among its people.`)
    return id
  }
  const people = sample.people.map((person, i) => ({
    id: idOf(person.name),
    ...person,
    sample: true,
    joined: new Date(now.getTime() - OLDEST - (sample.people.length - i) * 3 * DAY),
  }))
  const sources = sample.sources.map(({ key, by, ...about }, i) => {
    const source = { ...about, ...titledAs(about.title), person_id: idOf(by) }
    const known_as = namesOfFile(source)
    const added = new Date(now.getTime() - OLDEST + i * 5 * DAY)
    return { key, by, source: { id: sourceId(known_as[0] as string), ...source, known_as, added } }
  })
  const shared = shuffled(sample.entries, (entry) => `${entry.by ?? entry.source} ${entry.title}`)
  const entries = shared.map((entry, i) => {
    const age = 3 * MINUTE + OLDEST * ((i + 0.3) / shared.length) ** 1.9
    const from = sources.find(({ key }) => key === entry.source)
    const by = entry.by ?? from?.by
    if (by === undefined)
      throw new TypeError(`The sample entry has neither a person nor a source: ${entry.title}`)
    const published = new Date(now.getTime() - age)
    return withAnswers(entry, { person_id: idOf(by), source_id: from?.source.id, published, personIds, now })
  })
  return {
    people,
    sources: sources.map(({ source }) => source),
    entries: entries.map(({ entry }) => entry),
    comments: entries.flatMap(({ comments }) => comments),
    likes: entries.flatMap(({ likes }) => likes),
    services: sources.map(({ source: { id, person_id, added } }) => ({
      id: serviceId(person_id, id),
      person_id,
      source_id: id,
      added,
    })),
    follows: people.flatMap((person) => followsOf(person, people)),
  }
}

/** Returns the follows of a person: some of the other people, whose sources they bring. */
function followsOf(person: New<Person>, people: readonly New<Person>[]): New<Follow>[] {
  const others = shuffled(
    people.filter(({ id }) => id !== person.id),
    ({ id }) => `${person.id} follows ${id}`,
  )
  return others.slice(0, FOLLOWED_PEOPLE).map(({ id, joined }) => ({
    id: followId(person.id, id),
    person_id: person.id,
    channel_id: id,
    since: new Date(Math.max(person.joined.getTime(), joined.getTime()) + DAY),
  }))
}

interface Place {
  readonly person_id: string
  readonly source_id: string | undefined
  readonly published: Date
  readonly personIds: ReadonlyMap<string, string>
  readonly now: Date
}

function withAnswers(
  { title, body, link, tags, media, comments = [], likes = 0 }: SampleEntry,
  { person_id, source_id, published, personIds, now }: Place,
): { readonly entry: New<Entry>; readonly comments: New<Comment>[]; readonly likes: New<Like>[] } {
  const id = entryId(person_id, title)
  const at = (minutes: number): Date => new Date(published.getTime() + minutes * MINUTE)
  let minutes = 0
  const fans = shuffled(
    [...personIds.values()].filter((fan) => fan !== person_id),
    (fan) => `${fan} ${title}`,
  ).slice(0, likes)
  const allComments = comments.map(([name, text], i) => {
    const commenter = personIds.get(name)
    if (commenter === undefined) {
      throw new TypeError(`The sample has a comment by ${name}, who is not among its people.`)
    }
    minutes += 3 + 40 * fractionOf(text) ** 2
    const commentId = deriveId('sample comment', [id, i], { near: id })
    return { id: commentId, entry_id: id, person_id: commenter, text, commented: at(minutes) }
  })
  const allLikes = fans.map((fan) => {
    const liked = at(1 + 1000 * fractionOf(`${title} ${fan}`) ** 3)
    return { id: likeId(id, fan), entry_id: id, person_id: fan, liked }
  })
  // Comments and likes of the newest entries may have times in the future; these are left out.
  const past = {
    comments: allComments.filter(({ commented }) => commented < now),
    likes: allLikes.filter(({ liked }) => liked < now),
  }
  const entry = {
    id,
    ...freshEntry({ title, body, link, tags, media, person_id, source_id, published }, published),
    bumped: past.comments.at(-1)?.commented ?? published,
    comments: past.comments.length,
    likes: past.likes.length,
  }
  return { entry, ...past }
}
