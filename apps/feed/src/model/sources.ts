import type { DataStore } from 'looseleaf'
import { asSource, type Source } from './entities.ts'
import { sourceId } from './ids.ts'
import { entriesBySource, sourcesByTime, sourcesByUser } from './indexes.ts'
import type { List, Reader } from './reader.ts'

export async function sourceById(reader: Reader, id: string): Promise<Source | undefined> {
  return asSource(await reader.get(id))
}

export async function sourcesById(reader: Reader, ids: Iterable<string>): Promise<Map<string, Source>> {
  const sources = (await reader.getMany([...new Set(ids)])).map(asSource)
  return new Map(sources.filter((source) => source !== undefined).map((source) => [source.id, source]))
}

/** All sources, newest first. */
export function listSources(reader: Reader, cursor?: string, limit = 40): Promise<List<Source>> {
  return reader.list(sourcesByTime, { kind: 'source' }, asSource, { limit, cursor, scatter: true })
}

export async function sourcesOfUser(reader: Reader, userId: string): Promise<readonly Source[]> {
  return (await reader.list(sourcesByUser, { user_id: userId }, asSource, { limit: 50 })).items
}

export function countEntriesOfSource(reader: Reader, id: string): Promise<number> {
  return reader.count(entriesBySource, { source_id: id })
}

export interface NewSource {
  readonly title: string
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly user_id: string | undefined
}

/** Makes the source, or brings its title and links up to date. Answers with its id, and whether it is new. */
export async function saveSource(
  store: DataStore,
  source: NewSource,
): Promise<{ id: string; created: boolean }> {
  const id = sourceId(source.user_id, source.feed_link ?? source.link ?? source.title)
  const existing = asSource(await store.get(id))
  if (existing === undefined) {
    const { created } = await store.put({ kind: 'source', ...source, added: new Date() }, { id })
    return { id, created }
  }
  // A list of subscriptions may know less of a source than its own feed does.
  const known = { about: source.about || existing.about, link: source.link ?? existing.link }
  if (source.title !== existing.title || known.about !== existing.about || known.link !== existing.link) {
    await store.update(id, (bag) => ({ ...bag, title: source.title, ...known }))
  }
  return { id, created: false }
}
