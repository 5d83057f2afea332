import { isLooseleafError } from 'looseleaf'
import { itemOf } from '../domain/home/commands.ts'
import { pagesOf } from '../domain/site/lists.ts'
import { deliveryId } from '../kinds/delivery.ts'
import type { Entry } from '../kinds/entry.ts'
import { inboxItemId } from '../kinds/inbox-item.ts'
import type { SiteData } from '../kinds/site-data.ts'
import { isPulled } from './pulled-channels.ts'
import { requireAll } from './require-all.ts'
import type { Strategy } from './strategy.ts'

/** Followers per page, and items per batch of writes. */
const PAGE = 500

const exists = (error: unknown): boolean => isLooseleafError(error, 'ALREADY_EXISTS')

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
    requireAll(await data.inbox.insertMany(items, { fates: true }), exists)
  }
  const delivered = now()
  const delivery = {
    entry_id: id,
    recipients: people.length,
    delivered,
    bumped: entry.bumped,
    next_bump: delivered,
  }
  requireAll(await data.deliveries.insertMany([{ id: deliveryId(id), ...delivery }], { fates: true }), exists)
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
    if (await isPulled(data, channel, strategy, now)) continue
    for await (const follower of followersOf(data, channel)) {
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

async function* followersOf({ follows }: SiteData, channel_id: string): AsyncIterable<string> {
  for await (const { items } of pagesOf((cursor) =>
    follows.byChannel.list({ channel_id }, { limit: PAGE, cursor }),
  ))
    for (const { person_id } of items) yield person_id
}
