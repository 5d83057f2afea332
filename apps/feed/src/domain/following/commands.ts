import { followId } from '../../kinds/follow.ts'
import { MAX_SERVICES, serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { backfill, removeFromInbox } from '../home/commands.ts'
import { keepPulled } from '../home/pulled-follows.ts'
import { unlessThere } from '../site/unless-there.ts'
import { channelById, type Channel } from './queries.ts'

/**
 * Follows a channel, and fills the inbox with its newest entries. Returns the channel; undefined if there is none, if it is deleted
 * meanwhile, or if it is the person. Idempotent: a second call ends what an interrupted one began.
 */
export async function follow(
  data: SiteData,
  personId: string,
  channelId: string,
  now: Date = new Date(),
): Promise<Channel | undefined> {
  const channel = personId === channelId ? undefined : await channelById(data, channelId)
  if (channel === undefined) return undefined
  const id = followId(personId, channelId)
  await unlessThere(data.follows.insert({ person_id: personId, channel_id: channelId, since: now }, { id }))
  // A deletion that comes later finds the follow.
  if ((await channelById(data, channelId)) === undefined) {
    await data.follows.delete(id)
    return undefined
  }
  await backfill(data, personId, channelId)
  return channel
}

/** Channels that are followed together, so that they share statements. */
const AT_ONCE = 50

/** Follows channels as `follow` does, the first of them as the latest. Idempotent. */
export async function followAll(
  data: SiteData,
  personId: string,
  channelIds: readonly string[],
  now: Date,
): Promise<void> {
  for (let at = 0; at < channelIds.length; at += AT_ONCE) {
    const chunk = channelIds.slice(at, at + AT_ONCE)
    await Promise.all(chunk.map((id, i) => follow(data, personId, id, new Date(now.getTime() - at - i))))
  }
}

/**
 * Ends a follow. Entries that have arrived stay in the inbox, or go with it if `removeEntries` is true. Idempotent, and works for a
 * channel that was deleted.
 */
export async function unfollow(
  data: SiteData,
  personId: string,
  channelId: string,
  { removeEntries }: { readonly removeEntries: boolean },
): Promise<void> {
  const id = followId(personId, channelId)
  const isPulled = (await data.follows.get(id))?.pulled_by !== undefined
  if (isPulled && !removeEntries) await keepPulled(data, personId, channelId)
  await data.follows.delete(id)
  if (removeEntries) await removeFromInbox(data, personId, [channelId])
}

/**
 * Lets a person publish through a source, so that those who follow the person get its entries. Idempotent. Returns false if there is no
 * such source, or if the person has `MAX_SERVICES` already.
 */
export async function addService(
  data: SiteData,
  personId: string,
  ofSource: string,
  now: Date = new Date(),
): Promise<boolean> {
  const [exists, count] = await Promise.all([
    data.sources.exists(ofSource),
    data.services.byPerson.count({ person_id: personId }),
  ])
  if (!exists || count >= MAX_SERVICES) return false
  const id = serviceId(personId, ofSource)
  await unlessThere(data.services.insert({ person_id: personId, source_id: ofSource, added: now }, { id }))
  // A deletion that comes later finds the service.
  const stays = await data.sources.exists(ofSource)
  if (!stays) await data.services.delete(id)
  return stays
}

/** Ends a service. Idempotent. Entries that have arrived in inboxes stay. */
export async function removeService(
  { services }: SiteData,
  personId: string,
  ofSource: string,
): Promise<void> {
  await services.delete(serviceId(personId, ofSource))
}
