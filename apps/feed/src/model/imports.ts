import type { Bag, DataStore } from 'looseleaf'
import { asEntry, asImport, asSource, type Entry, type Import, type Source } from './entities.ts'
import { deleteEntry } from './entries.ts'
import { broughtByImport, commentsByEntry, entriesBySource, importsByUser, likesByEntry } from './indexes.ts'
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

export function createImportRecord(store: DataStore, about: NewImport, now: Date): ImportRecord {
  const id = store.newId()
  const bag = { kind: 'import', ...about, imported: now }
  let begun: Promise<unknown> | undefined
  return {
    id,
    begin: () => (begun ??= store.put({ ...bag, entries: 0, sources: 0 }, { id })),
    async end({ entries, sources }) {
      if (begun !== undefined) await store.put({ ...bag, entries, sources }, { id })
    },
  }
}

/** A person's imports that have brought something, newest first. */
export function importsOf(reader: Reader, userId: string, cursor?: string): Promise<List<Import>> {
  return reader.list(importsByUser, { user_id: userId }, asImport, { limit: 10, cursor })
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
export async function undoImport(store: DataStore, id: string, userId: string): Promise<Undone | undefined> {
  const undone = asImport(await store.get(id))
  if (undone === undefined || undone.user_id !== userId) return undefined
  const count = { entries: 0, sources: 0, keptEntries: 0, keptSources: 0, othersSources: 0 }
  const sources: Source[] = []
  let cursor: string | undefined
  do {
    const page = await store.query(
      broughtByImport,
      { import_id: id },
      { limit: CHUNK, ...(cursor && { cursor }) },
    )
    cursor = page.cursor
    sources.push(...page.items.map(asSource).filter((source) => source !== undefined))
    const entries = page.items.map(asEntry).filter((entry) => entry !== undefined)
    const taken = await Promise.all(entries.map((entry) => takeOut(store, entry, userId)))
    for (const wasTaken of taken) count[wasTaken ? 'entries' : 'keptEntries']++
  } while (cursor !== undefined)
  for (let at = 0; at < sources.length; at += CHUNK) {
    const chunk = sources.slice(at, at + CHUNK)
    for (const what of await Promise.all(chunk.map((source) => takeOutSource(store, source, id))))
      count[what]++
  }
  const { keptEntries, keptSources } = count
  if (keptEntries + keptSources === 0) await store.delete(id)
  else await store.update(id, (bag) => ({ ...bag, entries: keptEntries, sources: keptSources }))
  return { import: undone, entries: count.entries, sources: count.sources, keptEntries }
}

async function takeOut(store: DataStore, { id }: Entry, userId: string): Promise<boolean> {
  const isUsed = await Promise.all([
    hasOthers((cursor) => store.query(commentsByEntry, { entry_id: id }, { limit: 50, ...cursor }), userId),
    hasOthers((cursor) => store.query(likesByEntry, { entry_id: id }, { limit: 50, ...cursor }), userId),
  ])
  return !isUsed.includes(true) && (await deleteEntry(store, id, userId))
}

interface Answers {
  readonly items: readonly Bag[]
  readonly cursor?: string
}

/** Whether one of the answers to an entry is by somebody else. */
async function hasOthers(
  query: (cursor: { cursor?: string }) => Promise<Answers>,
  userId: string,
): Promise<boolean> {
  for (let from: { cursor?: string } = {}; ;) {
    const { items, cursor } = await query(from)
    if (items.some((answer) => answer['user_id'] !== userId)) return true
    if (cursor === undefined) return false
    from = { cursor }
  }
}

async function takeOutSource(
  store: DataStore,
  { id }: Source,
  importId: string,
): Promise<'sources' | 'keptSources' | 'othersSources'> {
  const { items } = await store.query(entriesBySource, { source_id: id }, { limit: 1, order: 'desc' })
  const entry = asEntry(items[0])
  if (entry === undefined) {
    await store.delete(id)
    return 'sources'
  }
  if (entry.import_id === importId) return 'keptSources'
  await store.update(id, ({ import_id: _, ...bag }) => ({
    ...bag,
    ...(entry.import_id === undefined ? {} : { import_id: entry.import_id }),
  }))
  return 'othersSources'
}
