import { isLooseleafError } from 'looseleaf'
import type { Comment, Like, SiteData } from './entities.ts'
import { likeId } from './ids.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import type { List, Reader, Some } from './reader.ts'

export const COMMENTS_PER_PAGE = 100
const LIKES_PER_PAGE = 20
const COMMENTS_ON_CARD = 3
const LIKES_ON_CARD = 4
/** So many rows cost less than a statement that counts them; with more likes than these they are counted. */
const LIKES_AT_ONCE = 40

/** Somebody who likes an entry. */
export type Liker = Pick<Like, 'user_id'>

/** All comments on an entry, the first one first. */
export function commentsOn(reader: Reader, entryId: string, cursor?: string): Promise<List<Comment>> {
  const where = { entry_id: entryId }
  return reader.page(reader.data.comments.byEntry, where, { order: 'asc', limit: COMMENTS_PER_PAGE, cursor })
}

/** Where the last page of the comments on an entry begins; undefined when they all are on the first. */
export async function lastPageOfComments(reader: Reader, entryId: string): Promise<string | undefined> {
  let last: string | undefined
  for (let next = (await commentsOn(reader, entryId)).cursor; next !== undefined;) {
    last = next
    next = (await commentsOn(reader, entryId, next)).cursor
  }
  return last
}

/** The last few comments on each of these entries, in the order in which they were made. */
export async function lastComments(
  reader: Reader,
  entryIds: readonly string[],
): Promise<readonly Some<Comment>[]> {
  const wheres = entryIds.map((entry_id) => ({ entry_id }))
  const found = await reader.newest(reader.data.comments.byEntry, wheres, COMMENTS_ON_CARD)
  return found.map(({ items, total }) => ({ items: items.toReversed(), total }))
}

/**
 * Who liked each of these entries last, the newest first. A like is never changed, so the rows of the index tell; one that is
 * being given or taken back at this moment may be among them.
 */
export async function lastLikes(
  reader: Reader,
  entryIds: readonly string[],
): Promise<readonly Some<Liker>[]> {
  const wheres = entryIds.map((entry_id) => ({ entry_id }))
  const found = await reader.rows(reader.data.likes.byEntry, wheres, LIKES_AT_ONCE)
  return found.map(({ items, total }) => ({
    items: items.slice(0, LIKES_ON_CARD).map(({ user_id }) => ({ user_id })),
    total,
  }))
}

export function countComments(reader: Reader, entryId: string): Promise<number> {
  return reader.count(reader.data.comments.byEntry, { entry_id: entryId })
}

/** What a person liked, newest first. */
export function likesOf(reader: Reader, userId: string, cursor?: string): Promise<List<Like>> {
  return reader.page(reader.data.likes.byUser, { user_id: userId }, { limit: LIKES_PER_PAGE, cursor })
}

/** Which of these entries this person likes: the ids of likes are known beforehand, so no index is asked. */
export async function likedAmong(
  reader: Reader,
  userId: string | undefined,
  entryIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (userId === undefined) return new Set()
  const likes = await reader.getMany(
    reader.data.likes,
    entryIds.map((id) => likeId(id, userId)),
  )
  return new Set(Array.from(likes.values(), (like) => like.entry_id))
}

export interface NewComment {
  readonly entry_id: string
  readonly user_id: string
  readonly text: string
}

/** Adds a comment beside its entry and answers with its id; undefined when the entry is gone. */
export async function postComment(
  { entries, comments }: SiteData,
  comment: NewComment,
  { once, now = new Date() }: PostOptions = {},
): Promise<string | undefined> {
  const { entry_id, user_id, text } = comment
  if ((await entries.get(entry_id)) === undefined) return undefined
  return insertOnce(
    comments,
    { ...comment, commented: now },
    {
      once,
      near: entry_id,
      isSame: (known) => known.entry_id === entry_id && known.user_id === user_id && known.text === text,
    },
  )
}

/** Removes a comment; it may be removed by who wrote it. Answers with the entry that it was on, or undefined. */
export async function deleteComment(
  { comments }: SiteData,
  id: string,
  userId: string,
): Promise<string | undefined> {
  const comment = await comments.get(id)
  if (comment?.user_id !== userId) return undefined
  await comments.delete(id)
  return comment.entry_id
}

/** Likes an entry; a second time changes nothing. False when the entry is gone. */
export async function likeEntry(
  { entries, likes }: SiteData,
  entryId: string,
  userId: string,
): Promise<boolean> {
  if ((await entries.get(entryId)) === undefined) return false
  const like = { entry_id: entryId, user_id: userId, liked: new Date() }
  try {
    await likes.insert(like, { id: likeId(entryId, userId) })
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
  return true
}

export async function unlikeEntry({ likes }: SiteData, entryId: string, userId: string): Promise<void> {
  await likes.delete(likeId(entryId, userId))
}
