import { isLooseleafError, type BatchWrite } from 'looseleaf'
import type { Comment } from '../../kinds/comment.ts'
import type { Entry } from '../../kinds/entry.ts'
import type { Like } from '../../kinds/like.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { likeId } from '../../kinds/ids.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import { byId, type List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'
import { isOvertaken } from '../site/overtaken.ts'
import { isGone, isThere } from '../site/unless-there.ts'

export const COMMENTS_PER_PAGE = 100
const LIKES_PER_PAGE = 20
const COMMENTS_ON_CARD = 3
const LIKES_ON_CARD = 4

/** A person who likes an entry. */
export type Liker = Pick<Like, 'person_id'>

/** Place in the comments on an entry: after a cursor, or before one. */
export interface CommentsPlace {
  readonly after?: string | undefined
  /** `LAST_COMMENTS` for the last page. */
  readonly before?: string | undefined
}

export const LAST_COMMENTS = 'end'

/** Returns a page of the comments on an entry, oldest first. Its cursors are places after it, or before it if it was read so. */
export async function commentsOn(
  { comments }: SiteData,
  entry_id: string,
  { after, before }: CommentsPlace = {},
): Promise<List<Comment>> {
  const limit = COMMENTS_PER_PAGE
  if (before === undefined) return comments.byEntry.page({ entry_id }, { limit, cursor: after, ...SKIP })
  // The last comments are the first in descending order, so that a page of them costs as much as any other.
  const cursor = before === LAST_COMMENTS ? undefined : before
  const page = await comments.byEntry.page({ entry_id }, { order: 'desc', limit, cursor, ...SKIP })
  return { items: page.items.toReversed(), cursor: page.previous, previous: page.cursor }
}

/** Returns the last comments on each of these entries, oldest first. */
export async function lastComments(
  { comments }: SiteData,
  entryIds: readonly string[],
): Promise<readonly (readonly Comment[])[]> {
  if (entryIds.length === 0) return []
  const wheres = entryIds.map((entry_id) => ({ entry_id }))
  const pages = await comments.byEntry.pageMany(wheres, { order: 'desc', limit: COMMENTS_ON_CARD, ...SKIP })
  return pages.map(({ items }) => items.toReversed())
}

/**
 * Returns the people who liked each of these entries last, newest first. It reads index rows only, because a like never changes. A like
 * that is being added or removed at this moment may be included.
 */
export async function lastLikes(
  { likes }: SiteData,
  entryIds: readonly string[],
): Promise<readonly (readonly Liker[])[]> {
  const options = { order: 'desc', limit: LIKES_ON_CARD, verify: false, ...SKIP } as const
  const lists = await Promise.all(entryIds.map((entry_id) => likes.byEntry.list({ entry_id }, options)))
  return lists.map(({ items }) => items.map(({ person_id }) => ({ person_id })))
}

/** Returns a person's likes, newest first. */
export function likesOf({ likes }: SiteData, personId: string, cursor?: string): Promise<List<Like>> {
  return likes.byPerson.page(
    { person_id: personId },
    { order: 'desc', limit: LIKES_PER_PAGE, cursor, ...SKIP },
  )
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

/**
 * Adds a comment, counts it in its entry and moves the entry up in the order of activity, all or nothing. Returns the comment's id;
 * undefined if the entry does not exist or was removed.
 */
export async function postComment(
  { comments, entries }: SiteData,
  comment: NewComment,
  { once, now = new Date() }: PostOptions = {},
): Promise<string | undefined> {
  const { entry_id, person_id, text } = comment
  try {
    return await insertOnce(comments, {
      once,
      near: entry_id,
      isSame: (known) => known.entry_id === entry_id && known.person_id === person_id && known.text === text,
      insert: async (id) => {
        await comments.store.batch([
          comments.writes.insert({ ...comment, commented: now }, { id }),
          entries.writes.update(entry_id, (entry) => {
            if (entry.removed !== undefined) throw new EntryRemoved()
            return { comments: entry.comments + 1, bumped: entry.bumped < now ? now : entry.bumped }
          }),
        ])
      },
    })
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Deletes a person's own comment and returns its entry's id. Returns undefined if it does not exist or is another person's. */
export async function deleteComment(
  { comments, entries }: SiteData,
  id: string,
  personId: string,
): Promise<string | undefined> {
  const comment = await comments.get(id)
  if (comment?.person_id !== personId) return undefined
  const { entry_id } = comment
  const isDeleted = await deleteAnswer(comments.writes.delete(comment), entries, entry_id, (entry) => ({
    comments: Math.max(0, entry.comments - 1),
  }))
  // An import may have deleted the entry.
  if (!isDeleted) await comments.delete(id)
  return entry_id
}

/** Likes an entry, and counts it there. Idempotent. Returns false if the entry does not exist or was removed. */
export async function likeEntry(
  { entries, likes }: SiteData,
  entryId: string,
  personId: string,
): Promise<boolean> {
  const like = { entry_id: entryId, person_id: personId, liked: new Date() }
  try {
    await likes.store.batch([
      likes.writes.insert(like, { id: likeId(entryId, personId) }),
      entries.writes.update(entryId, (entry) => {
        if (entry.removed !== undefined) throw new EntryRemoved()
        return { likes: entry.likes + 1 }
      }),
    ])
  } catch (error) {
    if (isMissing(error)) return false
    if (!isThere(error)) throw error
  }
  return true
}

/** Withdraws a like, and counts it in its entry. Idempotent. */
export async function unlikeEntry(
  { entries, likes }: SiteData,
  entryId: string,
  personId: string,
): Promise<void> {
  const like = await likes.get(likeId(entryId, personId))
  if (like === undefined) return
  await deleteAnswer(likes.writes.delete(like), entries, entryId, (entry) => ({
    likes: Math.max(0, entry.likes - 1),
  }))
}

/** Deletes a comment or a like together with its count. Does nothing if another request has done it, and returns false if the entry is missing. */
async function deleteAnswer(
  deletion: BatchWrite<boolean>,
  entries: SiteData['entries'],
  entryId: string,
  count: (entry: Pick<Entry, 'comments' | 'likes'>) => Partial<Pick<Entry, 'comments' | 'likes'>>,
): Promise<boolean> {
  try {
    await entries.store.batch([deletion, entries.writes.update(entryId, count)])
    return true
  } catch (error) {
    if (isLooseleafError(error, 'NOT_FOUND') && error.entity === entryId) return false
    if (isOvertaken(error)) return true
    throw error
  }
}

/** Ends a batch that would add to a removed entry. */
class EntryRemoved extends Error {
  override readonly name = 'EntryRemoved'
}

function isMissing(error: unknown): boolean {
  return error instanceof EntryRemoved || isGone(error)
}
