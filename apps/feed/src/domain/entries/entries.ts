import { isLooseleafError } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { freshEntry } from './fresh-entry.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import type { List } from '../site/lists.ts'

const ENTRIES_PER_PAGE = 20
/** An entry that was published before this time (in milliseconds since 1970) has no known date. */
export const UNDATED_BEFORE: number = 365 * 24 * 60 * 60 * 1_000
/** Largest number of other entries with the same link below an entry. */
const MAX_SHARES = 12

export function newestEntries({ entries }: SiteData, cursor?: string): Promise<List<Entry>> {
  return entries.byTime.page({}, { order: 'desc', limit: ENTRIES_PER_PAGE, cursor, scatter: true })
}

export function entriesOfPerson(
  { entries }: SiteData,
  personId: string,
  cursor?: string,
): Promise<List<Entry>> {
  return entries.byPerson.page({ person_id: personId }, { order: 'desc', limit: ENTRIES_PER_PAGE, cursor })
}

export function entriesOfSource(
  { entries }: SiteData,
  sourceId: string,
  cursor?: string,
): Promise<List<Entry>> {
  return entries.bySource.page({ source_id: sourceId }, { order: 'desc', limit: ENTRIES_PER_PAGE, cursor })
}

/** Returns other entries with the same link, newest first. Returns none while the site lacks the index. */
export async function alsoShared({ entries }: SiteData, { id, link_key }: Entry): Promise<readonly Entry[]> {
  const { byLink } = entries
  if (link_key === undefined || !byLink.isReady()) return []
  try {
    const { items } = await byLink.page({ link_key }, { order: 'desc', limit: MAX_SHARES + 1 })
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

/** Posts a message in the bucket of its person, with the rows of `byPerson`, and returns its id. */
export function postEntry(
  { entries }: SiteData,
  entry: NewEntry,
  { once, now = new Date() }: PostOptions = {},
): Promise<string> {
  const { person_id, title, link } = entry
  return insertOnce(entries, freshEntry({ ...entry, published: now }, now), {
    once,
    near: person_id,
    isSame: (known) => known.person_id === person_id && known.title === title && known.link === link,
  })
}

/** Deletes an entry with its comments and likes. Returns false if it does not exist or is another person's. */
export async function deleteEntry(
  { entries, comments, likes }: SiteData,
  id: string,
  personId: string,
): Promise<boolean> {
  const entry = await entries.get(id)
  if (entry?.person_id !== personId) return false
  await entries.delete(id)
  await Promise.all([comments, likes].map(({ byEntry }) => byEntry.deleteWhere({ entry_id: id })))
  return true
}
