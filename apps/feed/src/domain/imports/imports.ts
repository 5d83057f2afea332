import { unset } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import { followId } from '../../kinds/follow.ts'
import type { Import } from '../../kinds/import.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { deleteEntry } from '../entries/entries.ts'
import { removeFromInbox } from '../home/commands.ts'
import { pagesOf, type List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'

/** Entries or sources that an undo deletes concurrently. */
const CHUNK = 200

/** Properties of an import that are known at its start. */
export type NewImport = Pick<Import, 'person_id' | 'title' | 'format'>

/** An import in progress. */
export interface ImportRecord {
  readonly id: string
  /** Writes the import's entity, once. Has to resolve before any entity with its id as `import_id` is written. */
  begin(): Promise<unknown>
  /** Writes the numbers of created entities. Does nothing if `begin` was never called. */
  end(created: { readonly entries: number; readonly sources: number }): Promise<void>
}

export function createImportRecord({ imports }: SiteData, about: NewImport, now: Date): ImportRecord {
  const id = imports.store.newId()
  let begun: Promise<unknown> | undefined
  return {
    id,
    begin: () => (begun ??= imports.insert({ ...about, imported: now, entries: 0, sources: 0 }, { id })),
    async end(created) {
      if (begun !== undefined) await imports.update(id, created)
    },
  }
}

/** Returns a person's imports that created something, newest first. */
export function importsOf({ imports }: SiteData, personId: string, cursor?: string): Promise<List<Import>> {
  return imports.byPerson.page({ person_id: personId }, { order: 'desc', limit: 10, cursor, ...SKIP })
}

/** Result of undoing an import. */
export interface Undone {
  readonly import: Import
  /** Number of deleted entries. */
  readonly entries: number
  /** Number of deleted sources. */
  readonly sources: number
  /** Number of entries that stay because another person has commented on them or likes them. */
  readonly keptEntries: number
}

/**
 * Deletes entities that an import created: entries without comments and likes of others, and then sources without entries, with the
 * person's follows and inbox items of them. A source with entries of another import now belongs to that import, and one that the crawler
 * has filled or that others follow to none. If entities stay, the import stays and can be undone again; otherwise it is deleted. An
 * interrupted call can be repeated. Returns undefined if the import does not exist or is another person's.
 */
export async function undoImport(data: SiteData, id: string, personId: string): Promise<Undone | undefined> {
  const { imports, entries, sources } = data
  const undone = await imports.get(id)
  if (undone === undefined || undone.person_id !== personId) return undefined
  const count = { entries: 0, sources: 0, keptEntries: 0, keptSources: 0, othersSources: 0 }
  for await (const { items } of pagesOf((cursor) =>
    entries.byImport.page({ import_id: id }, { limit: CHUNK, cursor }),
  )) {
    const deleted = await Promise.all(items.map((entry) => deleteUnused(data, entry, personId)))
    for (const isDeleted of deleted) count[isDeleted ? 'entries' : 'keptEntries']++
  }
  for await (const { items } of pagesOf((cursor) =>
    sources.byImport.page({ import_id: id }, { limit: CHUNK, cursor }),
  )) {
    const outcomes = await Promise.all(items.map((source) => releaseSource(data, source, id, personId)))
    for (const outcome of outcomes) count[outcome]++
    const unused = items.filter((_, i) => outcomes[i] === 'sources').map((source) => source.id)
    await deleteSources(data, unused, personId)
  }
  const { keptEntries, keptSources } = count
  if (keptEntries + keptSources === 0) await imports.delete(id)
  else await imports.update(id, { entries: keptEntries, sources: keptSources })
  return { import: undone, entries: count.entries, sources: count.sources, keptEntries }
}

/** Deletes an entry unless others have commented on it or like it, also while this call looks for them. */
async function deleteUnused(data: SiteData, entry: Entry, personId: string): Promise<boolean> {
  const isUsed = await Promise.all(
    [data.comments, data.likes].map(({ byEntry }) =>
      hasOthers(byEntry.each({ entry_id: entry.id }, { limit: 50 }), personId),
    ),
  )
  return !isUsed.includes(true) && (await deleteEntry(data, entry))
}

/** Returns true if any of these is by another person. */
async function hasOthers(
  answers: AsyncIterable<{ readonly person_id: string }>,
  personId: string,
): Promise<boolean> {
  for await (const answer of answers) if (answer.person_id !== personId) return true
  return false
}

/** Tells what becomes of a source of an undone import, `sources` if it is to be deleted. Takes a source that others use off the import. */
async function releaseSource(
  data: SiteData,
  { id }: Source,
  importId: string,
  personId: string,
): Promise<'sources' | 'keptSources' | 'othersSources'> {
  const { entries, sources } = data
  const entry = await entries.byPublisher.first({ publisher_id: id }, { order: 'desc' })
  if (entry?.import_id === importId) return 'keptSources'
  if (entry !== undefined || (await isUsedByOthers(data, id, personId))) {
    await sources.update(id, { import_id: entry?.import_id ?? unset })
    return 'othersSources'
  }
  return 'sources'
}

/** Deletes sources, and before them all that a person has of them, so that a repeated undo finds what an interrupted one left. */
async function deleteSources(data: SiteData, ids: readonly string[], personId: string): Promise<void> {
  if (ids.length === 0) return
  const { sources, follows, services } = data
  await Promise.all(
    ids.flatMap((id) => [follows.delete(followId(personId, id)), services.delete(serviceId(personId, id))]),
  )
  await removeFromInbox(data, personId, ids)
  await Promise.all(ids.map((id) => sources.delete(id)))
}

/** Returns true if another person follows a source, or publishes through it. */
async function isUsedByOthers(
  { follows, services }: SiteData,
  id: string,
  personId: string,
): Promise<boolean> {
  const used = await Promise.all([
    hasOthers(follows.byChannel.each({ channel_id: id }, { limit: 50 }), personId),
    hasOthers(services.bySource.each({ source_id: id }, { limit: 50 }), personId),
  ])
  return used.includes(true)
}
