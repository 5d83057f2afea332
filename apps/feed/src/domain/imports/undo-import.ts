import { unchanged, unset } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import { followId } from '../../kinds/follow.ts'
import type { Import } from '../../kinds/import.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { deleteEntry } from '../entries/entries.ts'
import { removeFromInbox } from '../home/commands.ts'
import { pagesOf } from '../site/lists.ts'
import { requireAll } from '../site/require-all.ts'
import { unlessGone } from '../site/unless-there.ts'
import { isOvertaken } from '../site/overtaken.ts'

/** Entries or sources that an undo deletes concurrently. */
const CHUNK = 200
/** Time for which an undo postpones the fetches of sources that it deletes. */
const POSTPONED_MS = 60_000
/** An import that began longer ago has ended, or its process has died. */
const LONGEST_IMPORT_MS = 600_000

/** Result of undoing an import. */
export interface Undone {
  readonly import: Import
  /** Number of deleted entries. */
  readonly entries: number
  /** Number of deleted sources. */
  readonly sources: number
  /** Number of entries that stay because another person has commented on them or likes them. */
  readonly keptEntries: number
  /** Number of sources that stay because they are being fetched now. */
  readonly sourcesBeingFetched: number
  /** True if the import may still run. Its entity stays until it has stopped, or until the next undo. */
  readonly mayGoOn: boolean
}

/**
 * Deletes entities that an import created: entries without comments and likes of others, and then sources without entries, with the
 * person's follows and inbox items of them. A source with entries of another import now belongs to that import, and one that the crawler
 * has filled or that others follow to none. A source that is being fetched stays. If entities stay, the import stays and can be undone
 * again; otherwise it is deleted. An import that still runs stops and deletes itself; if its process dies, the next undo deletes it. An
 * interrupted call can be repeated, and two calls may overlap. Returns undefined if the import does not exist or is another person's.
 */
export async function undoImport(
  data: SiteData,
  id: string,
  personId: string,
  now: () => Date = () => new Date(),
): Promise<Undone | undefined> {
  const { imports, entries, sources } = data
  const undone = await imports.get(id)
  if (undone === undefined || undone.person_id !== personId) return undefined
  // An import that still runs stops at this mark, and undoes by itself what it has written after this call looked.
  await unlessGone(imports.update(id, (item) => (item.undone === undefined ? { undone: now() } : unchanged)))
  const count = {
    entries: 0,
    sources: 0,
    keptEntries: 0,
    keptSources: 0,
    othersSources: 0,
    sourcesBeingFetched: 0,
  }
  for await (const { items } of pagesOf((cursor) =>
    entries.byImport.page({ import_id: id }, { limit: CHUNK, cursor }),
  )) {
    const deleted = await Promise.all(items.map((entry) => deleteUnused(data, entry, personId)))
    for (const isDeleted of deleted) count[isDeleted ? 'entries' : 'keptEntries']++
  }
  for await (const { items } of pagesOf((cursor) =>
    sources.byImport.page({ import_id: id }, { limit: CHUNK, cursor }),
  )) {
    // A source that another call has written meanwhile, an import for example, is judged again.
    for (let rest: readonly Source[] = items; rest.length > 0;) {
      const outcomes = await Promise.all(
        rest.map((source) => releaseSource(data, source, { id, personId, now })),
      )
      for (const outcome of outcomes) if (outcome !== 'unused') count[outcome]++
      const unused = rest.filter((_, i) => outcomes[i] === 'unused')
      const deleted = await deleteSources(data, unused, personId, now)
      count.sources += deleted.size
      const others = unused.flatMap((source) => (deleted.has(source.id) ? [] : [source.id]))
      const found = await sources.getMany(others)
      rest = found.flatMap((source) => (source?.import_id === id ? [source] : []))
    }
  }
  const { keptEntries, sourcesBeingFetched } = count
  const keptSources = count.keptSources + sourcesBeingFetched
  const hasEnded = undone.entries + undone.sources > 0 || undone.undone !== undefined
  const mayGoOn = !hasEnded && now().getTime() - undone.imported.getTime() < LONGEST_IMPORT_MS
  if (keptEntries + keptSources === 0 && !mayGoOn) await imports.delete(id)
  else await unlessGone(imports.update(id, { entries: keptEntries, sources: keptSources }))
  return {
    import: undone,
    entries: count.entries,
    sources: count.sources,
    keptEntries,
    sourcesBeingFetched,
    mayGoOn,
  }
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

/** Tells what becomes of a source of an undone import: `unused` is to be deleted. Takes a source that others use off the import. */
async function releaseSource(
  data: SiteData,
  { id, leased_until }: Source,
  undo: { readonly id: string; readonly personId: string; readonly now: () => Date },
): Promise<'unused' | 'keptSources' | 'othersSources' | 'sourcesBeingFetched'> {
  const { entries, sources } = data
  if (leased_until !== undefined && leased_until > undo.now()) return 'sourcesBeingFetched'
  const entry = await entries.byPublisher.first({ publisher_id: id }, { order: 'desc' })
  if (entry?.import_id === undo.id) return 'keptSources'
  if (entry !== undefined || (await isUsedByOthers(data, id, undo.personId))) {
    await unlessGone(sources.update(id, { import_id: entry?.import_id ?? unset }))
    return 'othersSources'
  }
  return 'unused'
}

/**
 * Deletes sources, and before them all that a person has of them, so that a repeated undo finds what an interrupted one left. Returns the
 * ids of deleted sources; others have changed since they were read, or are deleted already. The crawler takes none of the sources
 * meanwhile, because they are not due.
 */
async function deleteSources(
  data: SiteData,
  unused: readonly Source[],
  personId: string,
  now: () => Date,
): Promise<ReadonlySet<string>> {
  const { sources, follows, services } = data
  const time = now().getTime()
  const later = new Date(time + POSTPONED_MS)
  // A source that an overlapping undo has postponed stays as it is, or the two would get in each other's way for ever.
  const isDue = (next_check: Date | undefined): boolean =>
    next_check !== undefined && next_check.getTime() < time + POSTPONED_MS / 2
  const postponed = await sources.updateMany(
    unused,
    ({ next_check }) => (isDue(next_check) ? { next_check: later } : unchanged),
    { fates: true },
  )
  requireAll(postponed, isOvertaken)
  const found = postponed.flatMap((fate) => (fate.ok ? [fate.value] : []))
  if (found.length === 0) return new Set()
  await Promise.all(
    found.flatMap(({ id }) => [
      follows.delete(followId(personId, id)),
      services.delete(serviceId(personId, id)),
    ]),
  )
  await removeFromInbox(
    data,
    personId,
    found.map(({ id }) => id),
  )
  const fates = await sources.deleteMany(found, { fates: true })
  requireAll(fates, isOvertaken)
  const deleted = found.flatMap(({ id }, i) => (fates[i]!.ok ? [id] : []))
  // A follow or a service that came meanwhile has found its source; a later one finds none.
  await Promise.all(
    deleted.flatMap((id) => [
      follows.byChannel.deleteWhere({ channel_id: id }),
      services.bySource.deleteWhere({ source_id: id }),
    ]),
  )
  return new Set(deleted)
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
