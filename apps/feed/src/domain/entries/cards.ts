import type { Comment } from '../../kinds/comment.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { Person } from '../../kinds/person.ts'
import type { Source } from '../../kinds/source.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { byId, type Excerpt } from '../site/lists.ts'
import { lastComments, lastLikes, likedAmong, type Liker } from './responses.ts'

/** An entry with its person and its source. */
export interface PublishedEntry {
  readonly entry: Entry
  readonly person: Person | undefined
  readonly source: Source | undefined
}

/** An entry with its likes, as every page shows it. */
export interface LikedEntry extends PublishedEntry {
  readonly likes: Excerpt<LikeBy>
  /** True if the signed-in person likes it. */
  readonly liked: boolean
}

/** An entry in a list, with the last comments. */
export interface Card extends LikedEntry {
  readonly comments: Excerpt<CommentBy>
}

export type CommentBy = Comment & By
export type LikeBy = Liker & By

interface By {
  readonly person: Person | undefined
}

/** Reads the cards of a page: first the comments and likes of all entries, then all people and sources. */
export async function cardsOf(
  data: SiteData,
  entries: readonly Entry[],
  viewer: string | undefined,
): Promise<readonly Card[]> {
  const ids = entries.map((entry) => entry.id)
  const [comments, likes] = await Promise.all([lastComments(data, ids), lastLikes(data, ids)])
  const answers = [...comments, ...likes].flatMap<Liker>((items) => items)
  const [names, liked] = await Promise.all([namesOn(data, entries, answers), likedAmong(data, viewer, ids)])
  return entries.map((entry, i) => ({
    ...names.published(entry),
    comments: names.by(comments[i], entry.comments),
    likes: names.by(likes[i], entry.likes),
    liked: liked.has(entry.id),
  }))
}

/** Adds people and sources to the entries, comments and likes of a page. */
export interface Names {
  published(entry: Entry): PublishedEntry
  by<Answer extends { readonly person_id: string }>(
    items: readonly Answer[] | undefined,
    total: number,
  ): Excerpt<Answer & By>
}

/** Reads all people and sources of a page together. */
export async function namesOn(
  data: SiteData,
  entries: readonly Entry[],
  answers: readonly { readonly person_id: string }[],
): Promise<Names> {
  const [people, sources] = await Promise.all([
    byId(
      data.people,
      [...entries, ...answers].map((item) => item.person_id),
    ),
    byId(
      data.sources,
      entries.map((entry) => entry.source_id),
    ),
  ])
  return {
    published: (entry) => ({
      entry,
      person: entry.person_id === undefined ? undefined : people.get(entry.person_id),
      source: entry.source_id === undefined ? undefined : sources.get(entry.source_id),
    }),
    by: (items = [], total) => ({
      items: items.map((item) => ({ ...item, person: people.get(item.person_id) })),
      total,
    }),
  }
}
