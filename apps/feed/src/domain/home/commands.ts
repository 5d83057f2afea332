import { isLooseleafError, unchanged } from 'looseleaf'
import type { Entry } from '../../kinds/entry.ts'
import { homeId } from '../../kinds/home.ts'
import { inboxItemId, type InboxItem } from '../../kinds/inbox-item.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { pagesOf } from '../site/lists.ts'
import { requireAll } from '../site/require-all.ts'
import { bringItems } from './bring-items.ts'
import type { HomeOrder, HomeRow } from './home-list.ts'
import { markIfPulled } from './pulled-follows.ts'
import { isLookDue, trimInbox } from './trim-inbox.ts'
import { isOvertaken } from '../site/overtaken.ts'

/** Entries of a channel that a new follower gets at once. */
const BACKFILL = 20
/** Items per batch of reads and writes. */
const CHUNK = 200

/**
 * Fills the inbox of a person who has just followed a channel with its newest entries, or marks the follow if the entries of the
 * channel are read at each visit. Call it after the follow was written. Idempotent.
 */
export async function backfill(data: SiteData, personId: string, channelId: string): Promise<void> {
  if (await markIfPulled(data, personId, channelId)) return
  const channels = [channelId, ...(await sourcesOf(data, channelId))]
  const pages = await data.entries.byChannel.pageMany(
    channels.map((channel_id) => ({ channel_id })),
    { order: 'desc', limit: BACKFILL },
  )
  const newest = pages
    .flatMap(({ items }) => items)
    .filter((entry) => !entry.quiet && entry.removed === undefined)
    .toSorted((a, b) => b.arrived.getTime() - a.arrived.getTime())
    .slice(0, BACKFILL)
  const items = newest.map((entry) => ({
    id: inboxItemId(personId, entry.id),
    ...itemOf(entry, personId, [channelId], entry.arrived),
  }))
  await bringItems(data, items)
  if (items.some(({ id }) => isLookDue(id))) await trimInbox(data, personId)
}

/** Returns the item of an entry for the inbox of a person. The writer of a message has read it. */
export function itemOf(
  entry: Pick<Entry, 'id' | 'channel_id' | 'arrived' | 'bumped' | 'media_kind' | 'link_key'>,
  personId: string,
  via: readonly string[],
  delivered: Date,
) {
  const { id, channel_id, arrived, bumped, media_kind, link_key } = entry
  return {
    person_id: personId,
    entry_id: id,
    channel_id,
    via,
    arrived,
    delivered,
    bumped,
    media: media_kind,
    link_key,
    read: channel_id === personId,
    hidden: false,
  }
}

/** Removes the entries from a person's inbox that only these channels brought. Idempotent. */
export async function removeFromInbox(
  data: SiteData,
  personId: string,
  channelIds: readonly string[],
): Promise<void> {
  const removed = new Set(channelIds)
  for await (const { items } of pagesOf((cursor) =>
    data.inbox.byPerson.page({ person_id: personId }, { limit: CHUNK, cursor }),
  )) {
    await removeChannels(data, items, removed)
  }
}

/**
 * Takes channels off these items, and deletes those that no other channel has brought. An item that was written since it was read, for
 * example because another channel brings its entry now, is read again.
 */
async function removeChannels(
  { inbox }: SiteData,
  items: readonly InboxItem[],
  removed: ReadonlySet<string>,
): Promise<void> {
  const staying = (via: readonly string[]): string[] => via.filter((channel) => !removed.has(channel))
  for (let rest = items; rest.length > 0;) {
    const brought = rest.filter(({ via }) => via.some((channel) => removed.has(channel)))
    const alone = brought.filter(({ via }) => staying(via).length === 0)
    const shared = brought.filter(({ via }) => staying(via).length > 0)
    const fates = [
      ...(await inbox.deleteMany(alone, { fates: true })),
      ...(await inbox.updateMany(shared, ({ via }) => ({ via: staying(via) }), { fates: true })),
    ]
    requireAll(fates, isOvertaken)
    const changed = [...alone, ...shared].filter((_, i) => {
      const fate = fates[i]!
      return !fate.ok && isChanged(fate.error)
    })
    const found = await inbox.getMany(changed.map(({ id }) => id))
    rest = found.filter((item) => item !== undefined)
  }
}

function isChanged(error: unknown): boolean {
  return isLooseleafError(error, 'VERSION_MISMATCH')
}

/** Returns the sources that a channel publishes through, if it is a person. */
async function sourcesOf({ services }: SiteData, channelId: string): Promise<readonly string[]> {
  const found = await services.byPerson.all({ person_id: channelId })
  return found.map(({ source_id }) => source_id)
}

/** Marks an entry of a person's home page as read. An entry that was read from its channel gets an item in the inbox. */
export async function markRead({ inbox }: SiteData, personId: string, row: HomeRow): Promise<void> {
  await inbox.upsert(
    inboxItemId(personId, row.entry_id),
    { ...row, person_id: personId, read: true },
    { read: true },
  )
}

/** Hides an entry of a person's home page, or shows it again. */
export async function setHidden(
  { inbox }: SiteData,
  personId: string,
  row: HomeRow,
  hidden: boolean,
): Promise<void> {
  await inbox.upsert(inboxItemId(personId, row.entry_id), { ...row, person_id: personId, hidden }, { hidden })
}

/** Marks all entries as read that were delivered up to a time. An earlier time than before changes nothing. */
export async function markAllRead({ homes }: SiteData, personId: string, upTo: Date): Promise<void> {
  const first = { person_id: personId, order: 'newest', seen_before: upTo } as const
  await homes.upsert(homeId(personId), first, ({ seen_before }) =>
    seen_before < upTo ? { seen_before: upTo } : unchanged,
  )
}

/** Chooses the order of a person's home page. */
export async function setOrder({ homes }: SiteData, personId: string, order: HomeOrder): Promise<void> {
  const first = { person_id: personId, order, seen_before: new Date(0) }
  await homes.upsert(homeId(personId), first, { order })
}
