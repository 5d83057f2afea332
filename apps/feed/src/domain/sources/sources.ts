import type { Source } from '../../kinds/source.ts'
import type { List, Reader, Excerpt } from '../site/reader.ts'

const SOURCES_PER_PAGE = 40
const SOURCES_ON_PROFILE = 5

/** Returns all sources, newest first. */
export function listSources(reader: Reader, cursor?: string): Promise<List<Source>> {
  return reader.page(reader.data.sources.byTime, {}, { limit: SOURCES_PER_PAGE, cursor, scatter: true })
}

/** Returns a person's sources, newest first. */
export function sourcesOfPerson(reader: Reader, personId: string, cursor?: string): Promise<List<Source>> {
  const where = { person_id: personId }
  return reader.page(reader.data.sources.byPerson, where, { limit: SOURCES_PER_PAGE, cursor })
}

/** Returns a person's newest sources for the profile, and the number of all. */
export async function lastSourcesOfPerson(reader: Reader, personId: string): Promise<Excerpt<Source>> {
  const where = { person_id: personId }
  const [last] = await reader.newest(reader.data.sources.byPerson, [where], SOURCES_ON_PROFILE)
  return last ?? { items: [], total: 0 }
}

/** Moves a person's sources of the newest entries to the front of the profile's sources. */
export function activeFirst(
  personId: string,
  last: Excerpt<Source>,
  active: readonly (Source | undefined)[],
): Excerpt<Source> {
  const activeOwned = active
    .filter((source) => source !== undefined)
    .filter((source) => source.person_id === personId)
  const byId = new Map([...activeOwned, ...last.items].map((source) => [source.id, source]))
  return { items: [...byId.values()].slice(0, SOURCES_ON_PROFILE), total: last.total }
}
