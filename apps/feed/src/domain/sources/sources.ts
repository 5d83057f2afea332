import type { Source } from '../../kinds/source.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { byId, type Excerpt, type List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'

const SOURCES_PER_PAGE = 40
const SOURCES_ON_PROFILE = 5

/** Returns all sources, newest first. */
export function listSources({ sources }: SiteData, cursor?: string): Promise<List<Source>> {
  return sources.byTime.page({}, { order: 'desc', limit: SOURCES_PER_PAGE, cursor, scatter: true, ...SKIP })
}

/** Returns the first of these sources for the profile of a person who publishes through them, and their number. */
export async function sourcesOnProfile(
  { sources }: SiteData,
  services: readonly string[],
): Promise<Excerpt<Source>> {
  const found = await byId(sources, services.slice(0, SOURCES_ON_PROFILE))
  return { items: [...found.values()], total: services.length }
}
