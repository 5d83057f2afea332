import type { SiteData } from '../../kinds/site-data.ts'
import type { ParsedFeed, ParsedOpml } from '../../feeds/parse/parsed-feed.ts'
import { addService, followAll } from '../following/commands.ts'
import { addSources } from '../sources/add-sources.ts'
import {
  keepFileSource,
  saveFileSource,
  type FileSource,
  type SavedSource,
} from '../sources/save-file-source.ts'
import { storeItems, type StoredItems } from '../sources/store-items.ts'
import { createImportRecord, ImportUndone, type ImportRecord } from './import-record.ts'

export interface StoredFeed extends StoredItems {
  readonly sourceId: string
}

/**
 * Stores the items of an imported file under one source of this person, or of no person. Importing a file again is idempotent. If the person
 * undoes the import meanwhile, also by another process, it stops, leaves nothing that it has created, and rejects with `ImportUndone`. The undo
 * of another import may overlap: entries that come after it have their source.
 */
export async function storeFeed(
  data: SiteData,
  feed: ParsedFeed,
  personId: string | undefined,
  now: Date,
): Promise<StoredFeed> {
  const { title, about, link, feedLink, format } = feed
  const record = createImportRecord(data, { title, format, person_id: personId }, now)
  const file = { title, about, link, feed_link: feedLink, person_id: personId }
  const saved = await saveFileSource(data, file, { import_id: record.id, beforeNew: record.begin })
  try {
    return await storeEntries(data, feed, { file, saved, record, now })
  } catch (error) {
    if (!(error instanceof ImportUndone)) throw error
    await record.undoRest()
    throw error
  }
}

interface FeedImport {
  readonly file: FileSource & { readonly person_id: string | undefined }
  readonly saved: SavedSource
  readonly record: ImportRecord
  readonly now: Date
}

async function storeEntries(
  data: SiteData,
  feed: ParsedFeed,
  { file, saved, record, now }: FeedImport,
): Promise<StoredFeed> {
  const { person_id: personId } = file
  // Before its entries come, so that they are delivered to those who follow the person.
  if (personId !== undefined && saved.created) await addService(data, personId, saved.id, now)
  const stored = await storeItems(data, feed, {
    sourceId: saved.id,
    personId,
    importId: record.id,
    now,
    isNew: saved.created,
    quietOld: true,
    beforeWrites: ({ areNew }) => (areNew ? record.begin() : record.check()),
  })
  const isBack = stored.added > 0 && (await keepFileSource(data, saved.id, file, record.id))
  if (personId !== undefined && isBack) await addService(data, personId, saved.id, now)
  await record.end({ entries: stored.added, sources: saved.created || isBack ? 1 : 0 })
  return { sourceId: saved.id, ...stored }
}

export interface StoredSubscriptions {
  readonly added: number
  readonly known: number
  /** True if the person follows all of them now. */
  readonly followed: boolean
}

export interface SubscriptionOptions {
  readonly personId: string | undefined
  /** Lets the person, if there is one, follow all sources of the list, also known ones. Default: false. */
  readonly follow?: boolean
  readonly now: Date
}

/**
 * Adds a source for each subscription, which the crawler fetches. A second call completes an interrupted one. If the person undoes the import
 * before all sources are there, it stops, leaves none of them, and rejects with `ImportUndone`.
 */
export async function storeSubscriptions(
  data: SiteData,
  opml: ParsedOpml,
  { personId, follow = false, now }: SubscriptionOptions,
): Promise<StoredSubscriptions> {
  const { title, format, subscriptions } = opml
  const record = createImportRecord(data, { title, format, person_id: personId }, now)
  const feeds = subscriptions.map(({ feedLink, ...about }) => ({ ...about, address: feedLink }))
  const options = { personId, import_id: record.id, beforeNew: record.begin, now }
  let saved: readonly SavedSource[]
  let added: number
  try {
    saved = await addSources(data, feeds, options)
    added = saved.filter(({ created }) => created).length
    await record.end({ entries: 0, sources: added })
  } catch (error) {
    if (error instanceof ImportUndone) await record.undoRest()
    throw error
  }
  const followed = follow && personId !== undefined
  if (followed) {
    const ids = saved.map(({ id }) => id)
    await followAll(data, personId, ids, now)
  }
  return { added, known: saved.length - added, followed }
}
