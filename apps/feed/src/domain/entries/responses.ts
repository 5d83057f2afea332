import { isLooseleafError } from 'looseleaf'
import type { Comment } from '../../kinds/comment.ts'
import type { Like } from '../../kinds/like.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { likeId } from '../../kinds/ids.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import { byId, newestOfEach, newestRowsOfEach, type Excerpt, type List } from '../site/lists.ts'

export const COMMENTS_PER_PAGE = 100
const LIKES_PER_PAGE = 20
const COMMENTS_ON_CARD = 3
const LIKES_ON_CARD = 4
/** Like rows that are read per entry. Reading this many costs less than a second statement that counts; more are counted. */
const LIKES_READ = 40

/** A person who likes an entry. */
export type Liker = Pick<Like, 'person_id'>

/** Returns a page of the comments on an entry, oldest first. */
export function commentsOn({ comments }: SiteData, entryId: string, cursor?: string): Promise<List<Comment>> {
  return comments.byEntry.page({ entry_id: entryId }, { limit: COMMENTS_PER_PAGE, cursor })
}

/** Returns the cursor of the last page of an entry's comments; undefined if there is one page. */
export async function lastPageOfComments(data: SiteData, entryId: string): Promise<string | undefined> {
  let last: string | undefined
  for (let next = (await commentsOn(data, entryId)).cursor; next !== undefined;) {
    last = next
    next = (await commentsOn(data, entryId, next)).cursor
  }
  return last
}

/** Returns the last comments on each of these entries, oldest first. */
export async function lastComments(
  { comments }: SiteData,
  entryIds: readonly string[],
): Promise<readonly Excerpt<Comment>[]> {
  const wheres = entryIds.map((entry_id) => ({ entry_id }))
  const found = await newestOfEach(comments.byEntry, wheres, COMMENTS_ON_CARD)
  return found.map(({ items, total }) => ({ items: items.toReversed(), total }))
}

/**
 * Returns the people who liked each of these entries last, newest first. It reads index rows only, because a like never changes. A like
 * that is being added or removed at this moment may be included.
 */
export async function lastLikes(
  { likes }: SiteData,
  entryIds: readonly string[],
): Promise<readonly Excerpt<Liker>[]> {
  const wheres = entryIds.map((entry_id) => ({ entry_id }))
  const found = await newestRowsOfEach(likes.byEntry, wheres, LIKES_READ)
  return found.map(({ items, total }) => ({
    items: items.slice(0, LIKES_ON_CARD).map(({ person_id }) => ({ person_id })),
    total,
  }))
}

export function countComments({ comments }: SiteData, entryId: string): Promise<number> {
  return comments.byEntry.count({ entry_id: entryId }, { exact: false })
}

/** Returns a person's likes, newest first. */
export function likesOf({ likes }: SiteData, personId: string, cursor?: string): Promise<List<Like>> {
  return likes.byPerson.page({ person_id: personId }, { order: 'desc', limit: LIKES_PER_PAGE, cursor })
}

/** Returns the ids of those entries that a person likes. The ids of likes are derived, so this needs no index. */
export async function likedAmong(
  data: SiteData,
  personId: string | undefined,
  entryIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (personId === undefined) return new Set()
  const likes = await byId(
    data.likes,
    entryIds.map((id) => likeId(id, personId)),
  )
  return new Set(Array.from(likes.values(), (like) => like.entry_id))
}

export interface NewComment {
  readonly entry_id: string
  readonly person_id: string
  readonly text: string
}

/** Adds a comment on the shard of its entry and returns its id; undefined if the entry does not exist. */
export async function postComment(
  { entries, comments }: SiteData,
  comment: NewComment,
  { once, now = new Date() }: PostOptions = {},
): Promise<string | undefined> {
  const { entry_id, person_id, text } = comment
  if ((await entries.get(entry_id)) === undefined) return undefined
  return insertOnce(
    comments,
    { ...comment, commented: now },
    {
      once,
      near: entry_id,
      isSame: (known) => known.entry_id === entry_id && known.person_id === person_id && known.text === text,
    },
  )
}

/** Deletes a person's own comment and returns its entry's id. Returns undefined if it does not exist or is another person's. */
export async function deleteComment(
  { comments }: SiteData,
  id: string,
  personId: string,
): Promise<string | undefined> {
  const comment = await comments.get(id)
  if (comment?.person_id !== personId) return undefined
  await comments.delete(id)
  return comment.entry_id
}

/** Likes an entry. Idempotent. Returns false if the entry does not exist. */
export async function likeEntry(
  { entries, likes }: SiteData,
  entryId: string,
  personId: string,
): Promise<boolean> {
  if ((await entries.get(entryId)) === undefined) return false
  const like = { entry_id: entryId, person_id: personId, liked: new Date() }
  try {
    await likes.insert(like, { id: likeId(entryId, personId) })
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
  return true
}

export async function unlikeEntry({ likes }: SiteData, entryId: string, personId: string): Promise<void> {
  await likes.delete(likeId(entryId, personId))
}
