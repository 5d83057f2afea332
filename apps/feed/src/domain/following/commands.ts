import { isLooseleafError } from 'looseleaf'
import { followId } from '../../kinds/follow.ts'
import { sourceId } from '../../kinds/ids.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { hostOf } from '../../text/web-link.ts'
import { backfill, removeFromInbox } from '../home/commands.ts'
import { namesOfSource } from '../sources/save-sources.ts'
import { channelById, type Channel } from './queries.ts'

/** Largest number of sources that a person publishes through. */
export const MAX_SERVICES = 50

/**
 * Follows a channel, and fills the inbox with its newest entries. Returns the channel; undefined if there is none, or if it is the person.
 * Idempotent: a second call ends what an interrupted one began.
 */
export async function follow(
  data: SiteData,
  personId: string,
  channelId: string,
  now: Date = new Date(),
): Promise<Channel | undefined> {
  const channel = personId === channelId ? undefined : await channelById(data, channelId)
  if (channel === undefined) return undefined
  await unlessThere(
    data.follows.insert(
      { person_id: personId, channel_id: channelId, since: now },
      { id: followId(personId, channelId) },
    ),
  )
  await backfill(data, personId, channelId)
  return channel
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
  await data.follows.delete(followId(personId, channelId))
  if (removeEntries) await removeFromInbox(data, personId, channelId)
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
  await unlessThere(
    data.services.insert(
      { person_id: personId, source_id: ofSource, added: now },
      { id: serviceId(personId, ofSource) },
    ),
  )
  return true
}

/** Ends a service. Idempotent. Entries that have arrived in inboxes stay. */
export async function removeService(
  { services }: SiteData,
  personId: string,
  ofSource: string,
): Promise<void> {
  await services.delete(serviceId(personId, ofSource))
}

/** Returns the id of the source of a feed by its address, and creates the source if the site does not know it. */
export async function sourceAt(data: SiteData, address: string, now: Date = new Date()): Promise<string> {
  const source = {
    title: hostOf(address),
    about: '',
    link: undefined,
    feed_link: address,
    person_id: undefined,
  }
  const [name = '', ...names] = namesOfSource(source)
  const known = await data.sources.byName.first({ known_as: name })
  if (known !== undefined) return known.id
  const id = sourceId(name)
  await unlessThere(data.sources.insert({ ...source, known_as: [name, ...names], added: now }, { id }))
  return id
}

/** Waits for an insert under a derived id. An entity that exists already is the same. */
async function unlessThere(insert: Promise<unknown>): Promise<void> {
  try {
    await insert
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
}
