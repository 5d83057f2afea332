import type { Source } from './entities.ts'
import type { List, Reader, Excerpt } from './reader.ts'

const SOURCES_PER_PAGE = 40
const SOURCES_ON_PROFILE = 5

/** Returns all sources, newest first. */
export function listSources(reader: Reader, cursor?: string): Promise<List<Source>> {
  return reader.page(reader.data.sources.byTime, {}, { limit: SOURCES_PER_PAGE, cursor, scatter: true })
}

/** Returns a person's sources, newest first. */
export function sourcesOfUser(reader: Reader, userId: string, cursor?: string): Promise<List<Source>> {
  const where = { user_id: userId }
  return reader.page(reader.data.sources.byUser, where, { limit: SOURCES_PER_PAGE, cursor })
}

/** Returns a person's newest sources for the profile, and the number of all. */
export async function lastSourcesOfUser(reader: Reader, userId: string): Promise<Excerpt<Source>> {
  const where = { user_id: userId }
  const [last] = await reader.newest(reader.data.sources.byUser, [where], SOURCES_ON_PROFILE)
  return last ?? { items: [], total: 0 }
}

/** Moves a person's sources of the newest entries to the front of the profile's sources. */
export function activeFirst(
  userId: string,
  last: Excerpt<Source>,
  active: readonly (Source | undefined)[],
): Excerpt<Source> {
  const activeOwned = active
    .filter((source) => source !== undefined)
    .filter((source) => source.user_id === userId)
  const byId = new Map([...activeOwned, ...last.items].map((source) => [source.id, source]))
  return { items: [...byId.values()].slice(0, SOURCES_ON_PROFILE), total: last.total }
}
