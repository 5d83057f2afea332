import type { Source } from '../../kinds/source.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { newestOfEach, type Excerpt, type List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'

const SOURCES_PER_PAGE = 40
const SOURCES_ON_PROFILE = 5

/** Returns all sources, newest first. */
export function listSources({ sources }: SiteData, cursor?: string): Promise<List<Source>> {
  return sources.byTime.page({}, { order: 'desc', limit: SOURCES_PER_PAGE, cursor, scatter: true, ...SKIP })
}

/** Returns a person's sources, newest first. */
export function sourcesOfPerson(
  { sources }: SiteData,
  personId: string,
  cursor?: string,
): Promise<List<Source>> {
  return sources.byPerson.page(
    { person_id: personId },
    { order: 'desc', limit: SOURCES_PER_PAGE, cursor, ...SKIP },
  )
}

/** Returns a person's newest sources for the profile, and the number of all. */
export async function lastSourcesOfPerson({ sources }: SiteData, personId: string): Promise<Excerpt<Source>> {
  const [last] = await newestOfEach(sources.byPerson, [{ person_id: personId }], SOURCES_ON_PROFILE)
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
