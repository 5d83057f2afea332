import { isLooseleafError } from 'looseleaf'
import { currentLists, keepPulled, marked, unmarked } from '../domain/home/pulled-follows.ts'
import { pagesOf } from '../domain/site/lists.ts'
import { requireAll } from '../domain/site/require-all.ts'
import { pulledChannelId, type PulledChannel } from '../kinds/pulled-channel.ts'
import type { SiteData } from '../kinds/site-data.ts'
import type { Strategy } from './strategy.ts'
import { isGone, isThere, unlessGone } from '../domain/site/unless-there.ts'

/** Follows per page. */
const PAGE = 500
/** Milliseconds between two counts of the followers of a channel that is read at each visit. */
export const COUNT_EVERY_MS = 600_000

/**
 * Returns the people to whom an entry of a channel is delivered: its followers, or none if they are so many that they read the channel at
 * each visit. The call that finds too many changes the channel to this, and the one that finds at most half of that number later, back.
 * An interrupted change is completed by the next call.
 */
export async function followersToPush(
  data: SiteData,
  channelId: string,
  strategy: Strategy,
  now: Date,
): Promise<readonly string[]> {
  for (;;) {
    try {
      return await followersByState(data, channelId, strategy, now)
    } catch (error) {
      // Another process has changed the state of the channel.
      if (!isLooseleafError(error, 'VERSION_MISMATCH') && !isThere(error)) throw error
    }
  }
}

async function followersByState(
  data: SiteData,
  channelId: string,
  { pushUpTo }: Strategy,
  now: Date,
): Promise<readonly string[]> {
  const { pulledChannels } = data
  const next_count = new Date(now.getTime() + COUNT_EVERY_MS)
  const id = pulledChannelId(channelId)
  let channel = await pulledChannels.get(id)
  if (channel?.state === 'pulled') {
    if (now < channel.next_count) return []
    const few = await followersUpTo(data, channelId, Math.floor(pushUpTo / 2))
    if (few === undefined) {
      await pulledChannels.update(channel, { next_count })
      return []
    }
    // From now on every process delivers its entries.
    channel = await pulledChannels.update(channel, { state: 'returning' })
  }
  if (channel?.state === 'returning') {
    await returnToPush(data, channel)
    channel = await pulledChannels.update(channel, { state: 'pushed' })
  }
  if (channel?.state !== 'marking') {
    const followers = await followersUpTo(data, channelId, pushUpTo)
    if (followers !== undefined) return followers
    // New followers look at the entity, so each follow that is not in the pages below is marked by its follower.
    channel =
      channel === undefined
        ? await pulledChannels.insert(
            { channel_id: channelId, state: 'marking', turn: 1, next_count },
            { id },
          )
        : await pulledChannels.update(channel, { state: 'marking', turn: channel.turn + 1 })
  }
  await markFollows(data, channel)
  await pulledChannels.update(channel, { state: 'pulled', next_count })
  return []
}

/** Returns the followers of a channel; undefined if there are more than this number. */
async function followersUpTo(
  { follows }: SiteData,
  channel_id: string,
  most: number,
): Promise<readonly string[] | undefined> {
  const people: string[] = []
  for await (const { items } of pagesOf((cursor) =>
    follows.byChannel.list({ channel_id }, { limit: Math.min(PAGE, most + 1), cursor }),
  )) {
    people.push(...items.map(({ person_id }) => person_id))
    if (people.length > most) return undefined
  }
  return people
}

async function markFollows({ follows }: SiteData, { channel_id, turn }: PulledChannel): Promise<void> {
  for await (const { items } of pagesOf((cursor) =>
    follows.byChannel.list({ channel_id }, { limit: PAGE, cursor }),
  )) {
    const ids = items.map(({ id }) => id)
    // A person may have unfollowed meanwhile.
    requireAll(await follows.updateMany(ids, marked(turn), { fates: true }), isGone)
  }
}

/**
 * Writes the entries that the followers of a channel have read from it into their inboxes, and takes the marks off their follows. An entry
 * that came before the state became `returning` is on the lists that are read here, and a later one is delivered.
 */
async function returnToPush(data: SiteData, { channel_id, turn }: PulledChannel): Promise<void> {
  const lists = currentLists(data)
  for await (const { items } of pagesOf((cursor) =>
    data.follows.byChannel.page({ channel_id }, { limit: PAGE, cursor }),
  ))
    for (const follow of items) {
      if (follow.pulled_by === undefined) continue
      await keepPulled(data, follow.person_id, channel_id, lists)
      await unlessGone(data.follows.update(follow.id, unmarked(turn)))
    }
}
