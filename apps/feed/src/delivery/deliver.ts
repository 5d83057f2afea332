import { bringItems } from '../domain/home/bring-items.ts'
import { itemOf } from '../domain/home/commands.ts'
import { isLookDue, trimInbox } from '../domain/home/trim-inbox.ts'
import { pagesOf } from '../domain/site/lists.ts'
import { deliveryId } from '../kinds/delivery.ts'
import type { Entry } from '../kinds/entry.ts'
import { inboxItemId } from '../kinds/inbox-item.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { unlessThere } from '../domain/site/unless-there.ts'
import { followersToPush } from './pulled-channels.ts'
import type { Strategy } from './strategy.ts'

/** Services per page, and items per batch of writes. */
const PAGE = 500

/**
 * Writes an item into the inbox of everyone who follows the channel of an entry, or a person who publishes through it, and of the writer of
 * a message. The ids of items are derived, so that a second call after an interruption finds those of the first, and each person gets the
 * entry once. Then it writes the entry's delivery.
 */
export async function deliver(
  data: SiteData,
  entry: Entry,
  strategy: Strategy,
  now: () => Date,
): Promise<void> {
  const { id } = entry
  const recipients = await recipientsOf(data, entry, strategy, now())
  const people = [...recipients.keys()]
  for (let at = 0; at < people.length; at += PAGE) {
    const delivered = now()
    const items = people.slice(at, at + PAGE).map((personId) => ({
      id: inboxItemId(personId, id),
      ...itemOf(entry, personId, recipients.get(personId) ?? [], delivered),
    }))
    await bringItems(data, items)
    const looked = items.filter((item) => isLookDue(item.id))
    await Promise.all(looked.map(({ person_id }) => trimInbox(data, person_id)))
  }
  const delivered = now()
  const delivery = {
    entry_id: id,
    recipients: people.length,
    delivered,
    media: entry.media_kind,
    link_key: entry.link_key,
    bumped: entry.bumped,
    next_bump: delivered,
  }
  await unlessThere(data.deliveries.insert(delivery, { id: deliveryId(id) }))
}

/** Returns the recipients of an entry, each with the followed channels that bring it. */
async function recipientsOf(
  data: SiteData,
  { channel_id, source_id, person_id }: Entry,
  strategy: Strategy,
  now: Date,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const recipients = new Map<string, string[]>()
  if (source_id === undefined && person_id !== undefined) recipients.set(person_id, [person_id])
  const channels =
    source_id === undefined ? [channel_id] : [channel_id, ...(await publishersOf(data, source_id))]
  for (const channel of channels) {
    for (const follower of await followersToPush(data, channel, strategy, now)) {
      const via = recipients.get(follower)
      if (via === undefined) recipients.set(follower, [channel])
      else via.push(channel)
    }
  }
  return recipients
}

/** Returns the people who publish through a source. */
async function publishersOf({ services }: SiteData, source_id: string): Promise<readonly string[]> {
  const people: string[] = []
  for await (const { items } of pagesOf((cursor) =>
    services.bySource.list({ source_id }, { limit: PAGE, cursor }),
  ))
    people.push(...items.map(({ person_id }) => person_id))
  return people
}
