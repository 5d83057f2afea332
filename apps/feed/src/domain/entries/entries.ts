import { isLooseleafError, unchanged, unset } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { foundBy } from '../search/found-by.ts'
import { freshEntry, linkedAs } from './fresh-entry.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import type { List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'
import { isGone } from '../site/unless-there.ts'

const ENTRIES_PER_PAGE = 20
/** An entry that was published before this time (in milliseconds since 1970) has no known date. */
export const UNDATED_BEFORE: number = 365 * 24 * 60 * 60 * 1_000
/** Largest number of other entries with the same link below an entry. */
const MAX_SHARES = 12
/** Comments, and likes, that are deleted together with their entry. A batch has up to 100 items. */
const ANSWERS_AT_ONCE = 45

/** Returns the newest entries of all people and sources. A page has fewer if some of its entries were removed. */
export async function newestEntries({ entries }: SiteData, cursor?: string): Promise<List<Entry>> {
  const page = await entries.byTime.page(
    {},
    { order: 'desc', limit: ENTRIES_PER_PAGE, cursor, scatter: true, ...SKIP },
  )
  return { ...page, items: page.items.filter(({ removed }) => removed === undefined) }
}

/** Returns the messages of a person and the entries of some sources, which the person publishes through, in one list, newest first. */
export function entriesOfPerson(
  { entries }: SiteData,
  personId: string,
  services: readonly string[],
  cursor?: string,
): Promise<List<Entry>> {
  // A page of the index would have all entries of one channel before those of the next.
  const channels = entries.byPublisher.condition({ publisher_id: { in: [personId, ...services] } })
  return entries.intersect([channels], { order: 'desc', limit: ENTRIES_PER_PAGE, cursor, ...SKIP })
}

/** Returns the entries of a source, newest first. */
export function entriesOfSource(
  { entries }: SiteData,
  sourceId: string,
  cursor?: string,
): Promise<List<Entry>> {
  return entries.byPublisher.page(
    { publisher_id: sourceId },
    { order: 'desc', limit: ENTRIES_PER_PAGE, cursor, ...SKIP },
  )
}

/** Returns other entries with the same link, newest first. Returns none while the site lacks the index. */
export async function alsoShared({ entries }: SiteData, { id, link_key }: Entry): Promise<readonly Entry[]> {
  const { byLink } = entries
  if (link_key === undefined || !byLink.isReady()) return []
  try {
    const { items } = await byLink.page({ link_key }, { order: 'desc', limit: MAX_SHARES + 1, ...SKIP })
    return items.filter((other) => other.id !== id).slice(0, MAX_SHARES)
  } catch (error) {
    // The index was dropped after `isReady`.
    if (isLooseleafError(error, 'INDEX_NOT_FOUND') || isLooseleafError(error, 'INDEX_NOT_READY')) return []
    throw error
  }
}

export interface NewEntry {
  readonly person_id: string
  readonly title: string
  readonly link: string | undefined
}

/** Posts a message in the bucket of its person, with the rows of `byPublisher`, and returns its id. */
export function postEntry(
  { entries }: SiteData,
  entry: NewEntry,
  { once, now = new Date() }: PostOptions = {},
): Promise<string> {
  const { person_id, title, link } = entry
  const value = freshEntry({ ...entry, published: now }, now)
  return insertOnce(entries, {
    once,
    near: person_id,
    isSame: (known) => known.person_id === person_id && known.title === title && known.link === link,
    insert: (id) => entries.insert(value, { id }),
  })
}

export interface MessageEdit extends Omit<NewEntry, 'person_id'> {
  /** The edition that this edit replaces. */
  readonly edition: string
}

/** Names the present text of a message. An edit of an earlier edition is refused. */
export function editionOf({ edited }: Pick<Entry, 'edited'>): string {
  return edited?.toISOString() ?? ''
}

/**
 * Changes a person's own message. Returns `outdated`, and changes nothing, if another edit has replaced the edition meanwhile; and `refused` if the
 * message does not exist, was removed, or is not of this person.
 */
export async function editEntry(
  { entries }: SiteData,
  id: string,
  personId: string,
  { title, link, edition }: MessageEdit,
  now: Date,
): Promise<'edited' | 'outdated' | 'refused'> {
  let outcome: 'edited' | 'outdated' | 'refused' = 'refused'
  try {
    await entries.update(id, (entry) => {
      const isSame = entry.title === title && entry.link === link
      outcome = !isOwnMessage(entry, personId)
        ? 'refused'
        : isSame || editionOf(entry) === edition
          ? 'edited'
          : 'outdated'
      if (outcome !== 'edited' || isSame) return unchanged
      const { link_key, media_kind } = linkedAs({ link, media: entry.media })
      return {
        title,
        link: link ?? unset,
        link_key: link_key ?? unset,
        media_kind,
        ...foundBy({ ...entry, title }),
        edited: now,
      }
    })
  } catch (error) {
    if (!isGone(error)) throw error
  }
  return outcome
}

/** Returns true for a message that this person wrote, and not for an entry of a source. */
export function isOwnMessage(
  { person_id, source_id }: Pick<Entry, 'person_id' | 'source_id'>,
  personId: string | undefined,
): boolean {
  return person_id !== undefined && person_id === personId && source_id === undefined
}

/**
 * Removes a person's own entry: its content and its likes. The comments of others stay, so its page stays too. Returns false if it does not
 * exist, was removed, or is another person's.
 */
export async function removeEntry(data: SiteData, id: string, personId: string, now: Date): Promise<boolean> {
  const entry = await data.entries.get(id)
  if (entry?.person_id !== personId) return false
  await removeContent(data, id, { by: personId, at: now })
  return true
}

/** Removes the content of an entry and its likes, for its person or its source. The comments stay. */
export async function removeContent(
  { entries, likes }: SiteData,
  id: string,
  removed: { readonly by: string; readonly at: Date },
): Promise<void> {
  await entries.update(id, {
    title: '',
    body: unset,
    link: unset,
    link_key: unset,
    author: unset,
    media: unset,
    media_kind: 'text',
    tags: unset,
    terms: unset,
    tag_keys: unset,
    edited: unset,
    // Without these, lists of channels and imports do not have it; `quiet` keeps it out of home pages.
    publisher_id: unset,
    person_id: unset,
    source_id: unset,
    import_id: unset,
    quiet: true,
    likes: 0,
    removed,
  })
  await likes.byEntry.deleteWhere({ entry_id: id })
}

/**
 * Deletes an entry with its comments and likes. Returns false, and deletes nothing, if it has changed since it was read: each comment and
 * each like changes it, too. The first answers go together with the entry, so that a crash leaves none of them without it; the others of
 * an entry with very many follow.
 */
export async function deleteEntry({ entries, comments, likes }: SiteData, entry: Entry): Promise<boolean> {
  const where = { entry_id: entry.id }
  const [someComments, someLikes] = await Promise.all([
    comments.byEntry.page(where, { limit: ANSWERS_AT_ONCE }),
    likes.byEntry.page(where, { limit: ANSWERS_AT_ONCE }),
  ])
  let hasMore = [someComments, someLikes].some(({ cursor }) => cursor !== undefined)
  try {
    await entries.store.batch([
      entries.writes.delete(entry),
      ...someComments.items.map(({ id }) => comments.writes.delete(id)),
      ...someLikes.items.map(({ id }) => likes.writes.delete(id)),
    ])
  } catch (error) {
    if (!isLooseleafError(error, 'VERSION_MISMATCH')) throw error
    if (await entries.exists(entry.id)) return false
    // An earlier call has deleted the entry, and was perhaps cut off before it deleted all answers.
    hasMore = true
  }
  if (hasMore) await Promise.all([comments, likes].map(({ byEntry }) => byEntry.deleteWhere(where)))
  return true
}
