import { newestEntries } from '../domain/entries/entries.ts'
import { countUnread, visibleRows } from '../domain/home/home-list.ts'
import { readHome } from '../domain/home/queries.ts'
import { byId } from '../domain/site/lists.ts'
import type { Site } from '../domain/site/site.ts'
import type { MediaKind } from '../kinds/entry.ts'
import type { SiteData } from '../kinds/site-data.ts'

/** An entry that may be new to a page: its id, the time at which it came in milliseconds since 1970, and its kind of media. */
type LiveEntry = readonly [id: string, at: number, media: MediaKind]

/** The state that an event sends. It is whole, so a browser that misses an event needs only the next one. */
export interface LiveState {
  /** Number of unread entries on the home page of a person; undefined for a visitor. */
  readonly unread?: number
  /** The newest entries, newest first. */
  readonly entries: readonly LiveEntry[]
}

/** The state of a person's home page, with all channels whose entries it reads at each visit. */
export interface PersonState {
  readonly state: LiveState
  readonly pulled: readonly string[]
}

/** Largest number of entries in an event. */
export const LIVE_ENTRIES = 20

/** Reads the state of a person's home page: only entries that the person may see there now. */
export async function readPersonState(
  site: Pick<Site, 'data' | 'pulledLists'>,
  personId: string,
): Promise<PersonState> {
  const home = await readHome(site, personId)
  const rows = visibleRows({ ...home, order: 'newest' }).slice(0, LIVE_ENTRIES)
  const entries = await byId(
    site.data.entries,
    rows.map(({ entry_id }) => entry_id),
  )
  const shown = rows.filter(({ entry_id }) => {
    const entry = entries.get(entry_id)
    return entry !== undefined && entry.removed === undefined
  })
  const state: LiveState = {
    unread: countUnread(home).total,
    entries: shown.map(({ entry_id, delivered, media }) => [entry_id, delivered.getTime(), media]),
  }
  return { state, pulled: await site.pulledLists.channelsOf(home.pulled) }
}

/** Reads the state of the public page. */
export async function readPublicState(data: SiteData): Promise<LiveState> {
  const { items } = await newestEntries(data)
  return { entries: items.map(({ id, arrived, media_kind }) => [id, arrived.getTime(), media_kind]) }
}
