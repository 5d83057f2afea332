import { asSource, type Source } from './entities.ts'
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
