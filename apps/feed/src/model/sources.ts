import type { Source } from './entities.ts'
import type { List, Reader, Some } from './reader.ts'

const SOURCES_PER_PAGE = 40
const SOURCES_ON_PROFILE = 5

/** All sources, newest first. */
export function listSources(reader: Reader, cursor?: string): Promise<List<Source>> {
  return reader.page(reader.data.sources.byTime, {}, { limit: SOURCES_PER_PAGE, cursor, scatter: true })
}

/** What a person brings in, what was added last at the top. */
export function sourcesOfUser(reader: Reader, userId: string, cursor?: string): Promise<List<Source>> {
  const where = { user_id: userId }
  return reader.page(reader.data.sources.byUser, where, { limit: SOURCES_PER_PAGE, cursor })
}

/** A few of what a person brings in, what was added last, and how many there are. */
export async function lastSourcesOfUser(reader: Reader, userId: string): Promise<Some<Source>> {
  const where = { user_id: userId }
  const [last] = await reader.newest(reader.data.sources.byUser, [where], SOURCES_ON_PROFILE)
  return last ?? { items: [], total: 0 }
}

/** The same, with those that the newest entries are from at the front. */
export function activeFirst(
  userId: string,
  last: Some<Source>,
  active: readonly (Source | undefined)[],
): Some<Source> {
  const own = active.filter((source) => source !== undefined).filter((source) => source.user_id === userId)
  const few = new Map([...own, ...last.items].map((source) => [source.id, source]))
  return { items: [...few.values()].slice(0, SOURCES_ON_PROFILE), total: last.total }
}
