import { homeId } from '../../kinds/home.ts'
import { HOME_LIMIT } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { readThing, SKIP } from '../site/partial-reads.ts'
import { joinRows, type HomeRow, type HomeRows } from './home-list.ts'

/**
 * Reads all that a home page needs to order, filter and count: a range of the inbox, and one for each followed channel with so many
 * followers that it is read at each visit. Reads no entries.
 * Rejects with `Unreadable` if the shard of the person does not answer.
 */
export async function readHome(data: SiteData, personId: string): Promise<HomeRows> {
  const newest = { order: 'desc', limit: HOME_LIMIT, verify: false, ...SKIP } as const
  const [home, inbox, pulls] = await Promise.all([
    readThing(data.homes, homeId(personId), 'home page'),
    data.inbox.byPerson.list({ person_id: personId }, newest),
    data.follows.byPuller.list({ pulled_by: personId }, { limit: HOME_LIMIT, verify: false, ...SKIP }),
  ])
  const pulled = await readPulled(
    data,
    pulls.items.map(({ channel_id }) => channel_id),
  )
  const rows = joinRows(inbox.items, pulled)
  return {
    rows,
    order: home?.order ?? 'newest',
    seenBefore: home?.seen_before ?? new Date(0),
    isFull: rows.length === HOME_LIMIT,
  }
}

/** Reads the newest entries of channels, and for people also of the sources that they publish through. */
async function readPulled(data: SiteData, channels: readonly string[]): Promise<readonly HomeRow[]> {
  if (channels.length === 0) return []
  const services = await Promise.all(
    channels.map((person_id) =>
      data.services.byPerson.list({ person_id }, { limit: HOME_LIMIT, verify: false, ...SKIP }),
    ),
  )
  /** Followed channels by the channel whose entries they bring. */
  const via = new Map<string, string[]>()
  for (const [i, channel] of channels.entries()) {
    const brought = [channel, ...(services[i]?.items ?? []).map(({ source_id }) => source_id)]
    for (const from of brought) via.set(from, [...(via.get(from) ?? []), channel])
  }
  const lists = await Promise.all(
    Array.from(via.keys(), (channel_id) =>
      data.entries.byChannel.list(
        { channel_id },
        { order: 'desc', limit: HOME_LIMIT, verify: false, ...SKIP },
      ),
    ),
  )
  return lists
    .flatMap(({ items }) => items)
    .filter(({ quiet }) => !quiet)
    .map(({ id, channel_id, arrived, bumped, media_kind }) => ({
      entry_id: id,
      channel_id,
      via: via.get(channel_id) ?? [],
      arrived,
      delivered: arrived,
      bumped,
      media: media_kind,
      read: false,
      hidden: false,
    }))
}
