import { unset } from 'looseleaf'
import type { Entry, Import, SiteData, Source } from './entities.ts'
import { deleteEntry } from './entries.ts'
import type { List, Reader } from './reader.ts'

/** Of what an import has brought, taken out together. */
const CHUNK = 200

/** What there is to say of an import before it has brought anything. */
export type NewImport = Pick<Import, 'user_id' | 'title' | 'format'>

/** An import that is under way. */
export interface ImportRecord {
  readonly id: string
  /** Writes that it is there, once. It has to be before anything is that carries its id. */
  begin(): Promise<unknown>
  /** Writes what it has brought; nothing at all when it never began. */
  end(brought: { readonly entries: number; readonly sources: number }): Promise<void>
}

export function createImportRecord({ imports }: SiteData, about: NewImport, now: Date): ImportRecord {
  const id = imports.store.newId()
  let begun: Promise<unknown> | undefined
  return {
    id,
    begin: () => (begun ??= imports.insert({ ...about, imported: now, entries: 0, sources: 0 }, { id })),
    async end(brought) {
      if (begun !== undefined) await imports.update(id, brought)
    },
  }
}

/** A person's imports that have brought something, newest first. */
export function importsOf(reader: Reader, userId: string, cursor?: string): Promise<List<Import>> {
  return reader.page(reader.data.imports.byUser, { user_id: userId }, { limit: 10, cursor })
}

/** What came of undoing an import. */
export interface Undone {
  readonly import: Import
  /** Taken out. */
  readonly entries: number
  readonly sources: number
  /** Entries that stay, because somebody else has commented on them or likes them. */
  readonly keptEntries: number
}

/**
 * Takes out what an import has brought and nobody else uses: entries without comments and likes of others, and then
 * sources without entries. A source that has entries of another import is that import's from now on. What stays can be
 * undone again later; an import that has nothing left is gone. Undefined when it is not this person's, or gone.
 */
export async function undoImport(data: SiteData, id: string, userId: string): Promise<Undone | undefined> {
  const { imports, entries, sources } = data
  const undone = await imports.get(id)
  if (undone === undefined || undone.user_id !== userId) return undefined
  const count = { entries: 0, sources: 0, keptEntries: 0, keptSources: 0, othersSources: 0 }
  for await (const chunk of chunksOf(entries.byImport.each({ import_id: id }, { limit: CHUNK }))) {
    const taken = await Promise.all(chunk.map((entry) => takeOut(data, entry, userId)))
    for (const wasTaken of taken) count[wasTaken ? 'entries' : 'keptEntries']++
  }
  for await (const chunk of chunksOf(sources.byImport.each({ import_id: id }, { limit: CHUNK }))) {
    for (const what of await Promise.all(chunk.map((source) => takeOutSource(data, source, id))))
      count[what]++
  }
  const { keptEntries, keptSources } = count
  if (keptEntries + keptSources === 0) await imports.delete(id)
  else await imports.update(id, { entries: keptEntries, sources: keptSources })
  return { import: undone, entries: count.entries, sources: count.sources, keptEntries }
}

async function* chunksOf<T>(items: AsyncIterable<T>): AsyncIterable<readonly T[]> {
  let chunk: T[] = []
  for await (const item of items) {
    if (chunk.push(item) < CHUNK) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

async function takeOut(data: SiteData, { id }: Entry, userId: string): Promise<boolean> {
  const isUsed = await Promise.all(
    [data.comments, data.likes].map(({ byEntry }) =>
      hasOthers(byEntry.each({ entry_id: id }, { limit: 50 }), userId),
    ),
  )
  return !isUsed.includes(true) && (await deleteEntry(data, id, userId))
}

/** Whether one of the answers to an entry is by somebody else. */
async function hasOthers(
  answers: AsyncIterable<{ readonly user_id: string }>,
  userId: string,
): Promise<boolean> {
  for await (const answer of answers) if (answer.user_id !== userId) return true
  return false
}

async function takeOutSource(
  { entries, sources }: SiteData,
  { id }: Source,
  importId: string,
): Promise<'sources' | 'keptSources' | 'othersSources'> {
  const entry = await entries.bySource.first({ source_id: id }, { order: 'desc' })
  if (entry === undefined) {
    await sources.delete(id)
    return 'sources'
  }
  if (entry.import_id === importId) return 'keptSources'
  await sources.update(id, { import_id: entry.import_id ?? unset })
  return 'othersSources'
}
