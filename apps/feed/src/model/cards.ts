import type { Comment, Entry, Person, Source } from './entities.ts'
import type { Reader, Some } from './reader.ts'
import { lastComments, lastLikes, likedAmong, type Liker } from './responses.ts'

/** An entry, who published it, and where. */
export interface PublishedEntry {
  readonly entry: Entry
  readonly person: Person | undefined
  readonly source: Source | undefined
}

/** An entry with what is shown of it on every page that has it. */
export interface LikedEntry extends PublishedEntry {
  readonly likes: Some<LikeBy>
  /** Whether the person who looks at it likes it. */
  readonly liked: boolean
}

/** An entry as a list shows it, with the last comments. */
export interface Card extends LikedEntry {
  readonly comments: Some<CommentBy>
}

export type CommentBy = Comment & By
export type LikeBy = Liker & By

interface By {
  readonly person: Person | undefined
}

/** Gathers the cards of a page: first the answers of all entries, and then all people and sources on the page. */
export async function cardsOf(
  reader: Reader,
  entries: readonly Entry[],
  viewer: string | undefined,
): Promise<readonly Card[]> {
  const ids = entries.map((entry) => entry.id)
  const [comments, likes] = await Promise.all([lastComments(reader, ids), lastLikes(reader, ids)])
  const answers = [...comments, ...likes].flatMap<Liker>(({ items }) => items)
  const [names, liked] = await Promise.all([
    namesOn(reader, entries, answers),
    likedAmong(reader, viewer, ids),
  ])
  return entries.map((entry, i) => ({
    ...names.published(entry),
    comments: names.by(comments[i]),
    likes: names.by(likes[i]),
    liked: liked.has(entry.id),
  }))
}

/** Who and what the entries and answers of a page are from. */
export interface Names {
  published(entry: Entry): PublishedEntry
  by<Answer extends { readonly user_id: string }>(some: Some<Answer> | undefined): Some<Answer & By>
}

/** Reads the people and sources of a page, all at once. */
export async function namesOn(
  reader: Reader,
  entries: readonly Entry[],
  answers: readonly { readonly user_id: string }[],
): Promise<Names> {
  const [people, sources] = await Promise.all([
    reader.getMany(
      reader.data.people,
      [...entries, ...answers].map((item) => item.user_id),
    ),
    reader.getMany(
      reader.data.sources,
      entries.map((entry) => entry.source_id),
    ),
  ])
  return {
    published: (entry) => ({
      entry,
      person: entry.user_id === undefined ? undefined : people.get(entry.user_id),
      source: entry.source_id === undefined ? undefined : sources.get(entry.source_id),
    }),
    by: (some) => ({
      items: some?.items.map((item) => ({ ...item, person: people.get(item.user_id) })) ?? [],
      total: some?.total ?? 0,
    }),
  }
}
