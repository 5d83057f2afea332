import { followId } from '../../kinds/follow.ts'
import { importedEntryId } from '../../kinds/ids.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import type { FeedItem } from '../../feeds/parse/parsed-feed.ts'
import { markIfPulled } from '../home/pulled-follows.ts'
import { pagesOf } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'
import { unlessThere } from '../site/unless-there.ts'
import { feedName, withNames } from './source-names.ts'

/** Returns the fetched source of a feed's address; undefined if there is none, and `unread` if a shard does not answer. */
export async function sourceAt(
  { sources }: SiteData,
  address: string,
): Promise<Source | 'unread' | undefined> {
  const { items, cost } = await sources.byName.page({ known_as: feedName(address) }, { limit: 1, ...SKIP })
  return items[0] ?? (cost.complete ? undefined : 'unread')
}

/** Items that are compared to tell whether two sources are one. */
const COMPARED = 20

/**
 * Tells whether a source has most of these items; `unread` if that is unclear because a shard does not answer. A feed that names another
 * address as its own may be wrong, or may lie, so its word alone makes no two sources one.
 */
export async function hasItems(
  { entries }: SiteData,
  sourceId: string,
  items: readonly FeedItem[],
): Promise<boolean | 'unread'> {
  const ids = items.slice(0, COMPARED).map(({ guid }) => importedEntryId(sourceId, guid))
  const { items: found, unread } = await entries.getMany(ids, SKIP)
  const isMost = found.filter((entry) => entry !== undefined).length * 2 > ids.length
  return isMost || unread.length === 0 ? isMost : 'unread'
}

/** Follows, or services, that are moved together, so that they share statements. */
const AT_ONCE = 100

/**
 * Moves all that a source has to the source of the same feed, except its entries, whose ids are derived from it: its names, its
 * followers and the people who publish through it. May be repeated after a crash. The caller makes the source an alias afterwards.
 */
export async function moveSource(data: SiteData, from: Source, to: Source): Promise<void> {
  const { follows, services, sources } = data
  await sources.update(to.id, (stored) => ({
    known_as: withNames(stored, from.known_as),
    next_check: stored.next_check ?? new Date(),
  }))
  for await (const { items } of pagesOf((cursor) =>
    follows.byChannel.page({ channel_id: from.id }, { limit: AT_ONCE, cursor }),
  ))
    await Promise.all(
      items.map(async ({ id, person_id, since }) => {
        const moved = { person_id, since, channel_id: to.id }
        await unlessThere(follows.insert(moved, { id: followId(person_id, to.id) }))
        await markIfPulled(data, person_id, to.id)
        await follows.delete(id)
      }),
    )
  for await (const { items } of pagesOf((cursor) =>
    services.bySource.page({ source_id: from.id }, { limit: AT_ONCE, cursor }),
  ))
    await Promise.all(
      items.map(async ({ id, person_id, added }) => {
        const moved = { person_id, added, source_id: to.id }
        await unlessThere(services.insert(moved, { id: serviceId(person_id, to.id) }))
        await services.delete(id)
      }),
    )
}
