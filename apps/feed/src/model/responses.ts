import { isLooseleafError, type DataStore } from 'looseleaf'
import { asComment, asEntry, asLike, type Comment, type Like } from './entities.ts'
import { likeId } from './ids.ts'
import { commentsByEntry, likesByEntry, likesByUser } from './indexes.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import type { List, Reader } from './reader.ts'

export const COMMENTS_PER_PAGE = 100

/** Some of the answers to an entry, and how many there are in all. */
export interface Some<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

/** All comments on an entry, the first one first. */
export function commentsOn(reader: Reader, entryId: string, cursor?: string): Promise<List<Comment>> {
  const where = { entry_id: entryId }
  return reader.list(commentsByEntry, where, asComment, { order: 'asc', limit: COMMENTS_PER_PAGE, cursor })
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

/** The last few comments on an entry, in the order in which they were made. */
export async function lastComments(reader: Reader, entryId: string, limit: number): Promise<Some<Comment>> {
  const where = { entry_id: entryId }
  const { items, cursor } = await reader.list(commentsByEntry, where, asComment, { limit })
  const total = cursor === undefined ? items.length : await reader.count(commentsByEntry, where)
  return { items: items.toReversed(), total }
}

/** The last few likes of an entry, the newest first. */
export async function lastLikes(reader: Reader, entryId: string, limit: number): Promise<Some<Like>> {
  const where = { entry_id: entryId }
  const { items, cursor } = await reader.list(likesByEntry, where, asLike, { limit })
  const total = cursor === undefined ? items.length : await reader.count(likesByEntry, where)
  return { items, total }
}

/** What a person liked, newest first. */
export function likesOf(reader: Reader, userId: string, cursor?: string): Promise<List<Like>> {
  return reader.list(likesByUser, { user_id: userId }, asLike, { limit: 20, cursor })
}

/** Which of these entries this person likes: the ids of likes are known beforehand, so no index is asked. */
export async function likedAmong(
  reader: Reader,
  userId: string,
  entryIds: readonly string[],
): Promise<Set<string>> {
  const likes = await reader.getMany(entryIds.map((id) => likeId(id, userId)))
  return new Set(entryIds.filter((_, i) => asLike(likes[i]) !== undefined))
}

export interface NewComment {
  readonly entry_id: string
  readonly user_id: string
  readonly text: string
}

/** Adds a comment beside its entry and answers with its id; undefined when the entry is gone. */
export async function postComment(
  store: DataStore,
  comment: NewComment,
  { once, now = new Date() }: PostOptions = {},
): Promise<string | undefined> {
  const { entry_id, user_id, text } = comment
  if (asEntry(await store.get(entry_id)) === undefined) return undefined
  return insertOnce(
    store,
    { kind: 'comment', ...comment, commented: now },
    {
      once,
      near: entry_id,
      isSame(entity) {
        const known = asComment(entity)
        return known?.entry_id === entry_id && known.user_id === user_id && known.text === text
      },
    },
  )
}

/** Removes a comment; it may be removed by who wrote it. Answers with the entry that it was on, or undefined. */
export async function deleteComment(
  store: DataStore,
  id: string,
  userId: string,
): Promise<string | undefined> {
  const comment = asComment(await store.get(id))
  if (comment?.user_id !== userId) return undefined
  await store.delete(id)
  return comment.entry_id
}

/** Likes an entry; a second time changes nothing. False when the entry is gone. */
export async function likeEntry(store: DataStore, entryId: string, userId: string): Promise<boolean> {
  if (asEntry(await store.get(entryId)) === undefined) return false
  const like = { kind: 'like', entry_id: entryId, user_id: userId, liked: new Date() }
  try {
    await store.insert(like, { id: likeId(entryId, userId) })
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
  return true
}

export async function unlikeEntry(store: DataStore, entryId: string, userId: string): Promise<void> {
  await store.delete(likeId(entryId, userId))
}
