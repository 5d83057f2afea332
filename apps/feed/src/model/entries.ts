import type { DataStore, IndexDefinition } from 'looseleaf'
import { asEntry, type Entry } from './entities.ts'
import {
  commentsByEntry,
  entriesByLink,
  entriesBySource,
  entriesByTime,
  entriesByUser,
  likesByEntry,
} from './indexes.ts'
import { insertOnce, type PostOptions } from './insert-once.ts'
import type { List, Reader } from './reader.ts'

export const ENTRIES_PER_PAGE = 20
/** Others who shared a link, shown below an entry. */
const MOST_SHARES = 12

export function newestEntries(reader: Reader, cursor?: string): Promise<List<Entry>> {
  return reader.list(entriesByTime, { kind: 'entry' }, asEntry, {
    limit: ENTRIES_PER_PAGE,
    cursor,
    scatter: true,
  })
}

export function entriesOfUser(reader: Reader, userId: string, cursor?: string): Promise<List<Entry>> {
  return reader.list(entriesByUser, { user_id: userId }, asEntry, { limit: ENTRIES_PER_PAGE, cursor })
}

export function entriesOfSource(reader: Reader, sourceId: string, cursor?: string): Promise<List<Entry>> {
  return reader.list(entriesBySource, { source_id: sourceId }, asEntry, { limit: ENTRIES_PER_PAGE, cursor })
}

export async function entryById(reader: Reader, id: string): Promise<Entry | undefined> {
  return asEntry(await reader.get(id))
}

/** These entries, in the order of the ids, without those that are gone. */
export async function entriesById(reader: Reader, ids: readonly string[]): Promise<readonly Entry[]> {
  return (await reader.getMany(ids)).map(asEntry).filter((entry) => entry !== undefined)
}

/** The other entries with the same link, newest first. */
export async function alsoShared(reader: Reader, entry: Entry): Promise<readonly Entry[]> {
  if (entry.link === undefined) return []
  const { items } = await reader.list(entriesByLink, { link: entry.link }, asEntry, {
    limit: MOST_SHARES + 1,
  })
  return items.filter((other) => other.id !== entry.id).slice(0, MOST_SHARES)
}

export interface NewEntry {
  readonly user_id: string
  readonly title: string
  readonly link: string | undefined
}

/** Posts a message and answers with its id. */
export function postEntry(
  store: DataStore,
  entry: NewEntry,
  { once, now = new Date() }: PostOptions = {},
): Promise<string> {
  return insertOnce(
    store,
    { kind: 'entry', ...entry, published: now },
    {
      once,
      isSame(entity) {
        const known = asEntry(entity)
        return known?.user_id === entry.user_id && known.title === entry.title && known.link === entry.link
      },
    },
  )
}

/** Removes an entry with all that hangs on it. False when it is not this person's, or gone. */
export async function deleteEntry(store: DataStore, id: string, userId: string): Promise<boolean> {
  const entry = asEntry(await store.get(id))
  if (entry?.user_id !== userId) return false
  await store.delete(id)
  await deleteAnswers(store, commentsByEntry, id)
  await deleteAnswers(store, likesByEntry, id)
  return true
}

async function deleteAnswers(
  store: DataStore,
  index: typeof commentsByEntry | typeof likesByEntry,
  entryId: string,
): Promise<void> {
  // The index as its plain data: which of the two it is makes no difference here.
  const answers: IndexDefinition = index
  for (;;) {
    // What is deleted leaves the index, so the first page is always the next one.
    const { items } = await store.query(answers, { entry_id: entryId }, { limit: 200 })
    if (items.length === 0) return
    await Promise.all(items.map((answer) => store.delete(answer.id)))
  }
}
