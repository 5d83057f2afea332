import { followId } from '../../kinds/follow.ts'
import type { Person } from '../../kinds/person.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'
import { byId } from '../site/lists.ts'
import { isThere, SKIP } from '../site/partial-reads.ts'

const CHANNELS_PER_PAGE = 50
/**
 * More than `MAX_SERVICES`, because people who add several at the same time may exceed it. An intersection takes lists of 100 values: these,
 * and the person.
 */
const SERVICES_SHOWN = 99

/** A person or a source that can be followed. */
export type Channel =
  | { readonly type: 'person'; readonly person: Person }
  | { readonly type: 'source'; readonly source: Source }

/** Returns the person or the source with this id; undefined if there is none. */
export async function channelById({ people, sources }: SiteData, id: string): Promise<Channel | undefined> {
  const [person, source] = await Promise.all([people.get(id), sources.get(id)])
  if (person !== undefined) return { type: 'person', person }
  return source && { type: 'source', source }
}

/** The position of a viewer towards a channel. */
export interface Following {
  /** Undefined if a shard does not answer. */
  readonly followers: number | undefined
  /** Undefined for a visitor who is not signed in, for the viewer's own channel, and if a shard does not answer. */
  readonly followed: boolean | undefined
}

/** Returns the number of followers of a channel, and whether the viewer is one. */
export async function followingOf(
  { follows }: SiteData,
  channelId: string,
  viewerId: string | undefined,
): Promise<Following> {
  const mayFollow = viewerId !== undefined && viewerId !== channelId
  const [{ count, complete }, followed] = await Promise.all([
    follows.byChannel.count({ channel_id: channelId }, { exact: false, ...SKIP }),
    mayFollow ? isThere(follows, followId(viewerId, channelId)) : undefined,
  ])
  return { followers: complete ? count : undefined, followed }
}

/** A page of the channels that a person follows. */
export interface FollowedChannels {
  /** Latest follow first. A channel that was deleted, or whose shard does not answer, is left out. */
  readonly items: readonly Channel[]
  readonly cursor: string | undefined
  readonly previous: string | undefined
}

export async function channelsFollowedBy(
  data: SiteData,
  personId: string,
  cursor?: string,
): Promise<FollowedChannels> {
  const page = await data.follows.byPerson.list(
    { person_id: personId },
    { order: 'desc', limit: CHANNELS_PER_PAGE, ...SKIP, ...(cursor !== undefined && { cursor }) },
  )
  const ids = page.items.map(({ channel_id }) => channel_id)
  if (ids.length === 0) return { items: [], cursor: page.cursor, previous: page.previous }
  const [people, sources] = await Promise.all([byId(data.people, ids), byId(data.sources, ids)])
  const items = ids.flatMap((id): Channel[] => {
    const [person, source] = [people.get(id), sources.get(id)]
    if (person !== undefined) return [{ type: 'person', person }]
    return source === undefined ? [] : [{ type: 'source', source }]
  })
  return { items, cursor: page.cursor, previous: page.previous }
}

/**
 * Returns the ids of the sources that a person publishes through, latest first, by index rows alone. A service that was removed some seconds
 * ago may still be among them.
 */
export async function serviceIdsOf({ services }: SiteData, personId: string): Promise<readonly string[]> {
  const { items } = await services.byPerson.list(
    { person_id: personId },
    { order: 'desc', limit: SERVICES_SHOWN, verify: false, ...SKIP },
  )
  return items.map(({ source_id }) => source_id)
}

/** Returns the sources that a person publishes through, latest first. A source whose shard does not answer is left out. */
export async function servicesOf(data: SiteData, personId: string): Promise<readonly Source[]> {
  const newest = { order: 'desc', limit: SERVICES_SHOWN, ...SKIP } as const
  const { items } = await data.services.byPerson.page({ person_id: personId }, newest)
  const sources = await byId(
    data.sources,
    items.map(({ source_id }) => source_id),
  )
  return [...sources.values()]
}

/** Tells whether a person publishes through a source; undefined if a shard does not answer. */
export function isService(
  { services }: SiteData,
  personId: string,
  sourceId: string,
): Promise<boolean | undefined> {
  return isThere(services, serviceId(personId, sourceId))
}
