import { asSource, type Entry, type Source } from './entities.ts'
import { entriesBySource, sourcesByTime, sourcesByUser } from './indexes.ts'
import type { List, Reader } from './reader.ts'
import type { Some } from './responses.ts'

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

/** What a person brings in, what was added last at the top. */
export function sourcesOfUser(
  reader: Reader,
  userId: string,
  cursor?: string,
  limit = 40,
): Promise<List<Source>> {
  return reader.list(sourcesByUser, { user_id: userId }, asSource, { limit, cursor })
}

const SOURCES_ON_PROFILE = 5

/** A few of what a person brings in, and how many there are: those that the newest entries are from come first. */
export async function fewSourcesOfUser(
  reader: Reader,
  userId: string,
  newest: readonly Entry[],
): Promise<Some<Source>> {
  const ids = newest.map((entry) => entry.source_id).filter((id) => id !== undefined)
  const [list, active] = await Promise.all([
    sourcesOfUser(reader, userId, undefined, SOURCES_ON_PROFILE),
    sourcesById(reader, ids),
  ])
  const total =
    list.cursor === undefined ? list.items.length : await reader.count(sourcesByUser, { user_id: userId })
  const own = [...active.values()].filter((source) => source.user_id === userId)
  const few = new Map([...own, ...list.items].map((source) => [source.id, source]))
  return { items: [...few.values()].slice(0, SOURCES_ON_PROFILE), total }
}

export function countEntriesOfSource(reader: Reader, id: string): Promise<number> {
  return reader.count(entriesBySource, { source_id: id })
}
