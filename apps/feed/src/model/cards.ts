import type { Comment, Entry, Like, Person, Source } from './entities.ts'
import { peopleById } from './people.ts'
import type { Reader } from './reader.ts'
import { lastComments, lastLikes, likedAmong, type Some } from './responses.ts'
import { sourcesById } from './sources.ts'

/** An entry with everything that a list of entries shows of it. */
export interface Card {
  readonly entry: Entry
  readonly person: Person | undefined
  readonly source: Source | undefined
  readonly comments: Some<CommentBy>
  readonly likes: Some<LikeBy>
  /** Whether the person who looks at it likes it. */
  readonly liked: boolean
}

export interface CommentBy extends Comment {
  readonly person: Person | undefined
}

export interface LikeBy extends Like {
  readonly person: Person | undefined
}

const COMMENTS_ON_CARD = 3
const LIKES_ON_CARD = 4

/**
 * Gathers the cards of a page: a query for the comments and one for the likes of each entry, all at once, and then one
 * read for all the people and sources on the page.
 */
export async function cardsOf(
  reader: Reader,
  entries: readonly Entry[],
  viewer: string | undefined,
): Promise<readonly Card[]> {
  const ids = entries.map((entry) => entry.id)
  const [comments, likes, liked] = await Promise.all([
    Promise.all(ids.map((id) => lastComments(reader, id, COMMENTS_ON_CARD))),
    Promise.all(ids.map((id) => lastLikes(reader, id, LIKES_ON_CARD))),
    viewer === undefined ? new Set<string>() : likedAmong(reader, viewer, ids),
  ])
  const userIds = [
    ...entries.map((entry) => entry.user_id),
    ...[...comments, ...likes].flatMap((some) => some.items.map((item) => item.user_id)),
  ].filter((id) => id !== undefined)
  const sourceIds = entries.map((entry) => entry.source_id).filter((id) => id !== undefined)
  const [people, sources] = await Promise.all([peopleById(reader, userIds), sourcesById(reader, sourceIds)])
  return entries.map((entry, i) => ({
    entry,
    person: entry.user_id === undefined ? undefined : people.get(entry.user_id),
    source: entry.source_id === undefined ? undefined : sources.get(entry.source_id),
    comments: withPeople(comments[i], people),
    likes: withPeople(likes[i], people),
    liked: liked.has(entry.id),
  }))
}

/** Puts the person to each answer. */
export function withPeople<Item extends { readonly user_id: string }>(
  some: Some<Item> | undefined,
  people: ReadonlyMap<string, Person>,
): Some<Item & { person: Person | undefined }> {
  const items = some?.items.map((item) => ({ ...item, person: people.get(item.user_id) })) ?? []
  return { items, total: some?.total ?? 0 }
}
