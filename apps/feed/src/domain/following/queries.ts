import { followId } from '../../kinds/follow.ts'
import type { Person } from '../../kinds/person.ts'
import { serviceId } from '../../kinds/service.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { Source } from '../../kinds/source.ts'

const CHANNELS_PER_PAGE = 50

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
  readonly followers: number
  /** Undefined for a visitor who is not signed in, and for the viewer's own channel. */
  readonly followed: boolean | undefined
}

/** Returns the number of followers of a channel, and whether the viewer is one. */
export async function followingOf(
  { follows }: SiteData,
  channelId: string,
  viewerId: string | undefined,
): Promise<Following> {
  const mayFollow = viewerId !== undefined && viewerId !== channelId
  const [followers, followed] = await Promise.all([
    follows.byChannel.count({ channel_id: channelId }, { exact: false }),
    mayFollow ? follows.exists(followId(viewerId, channelId)) : undefined,
  ])
  return { followers, followed }
}

/** A page of the channels that a person follows. */
export interface FollowedChannels {
  /** Latest follow first. A channel that was deleted is left out. */
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
    { order: 'desc', limit: CHANNELS_PER_PAGE, ...(cursor !== undefined && { cursor }) },
  )
  const ids = page.items.map(({ channel_id }) => channel_id)
  if (ids.length === 0) return { items: [], cursor: page.cursor, previous: page.previous }
  const [people, sources] = await Promise.all([data.people.getMany(ids), data.sources.getMany(ids)])
  const items = ids.flatMap((_, i): Channel[] => {
    const [person, source] = [people[i], sources[i]]
    if (person !== undefined) return [{ type: 'person', person }]
    return source === undefined ? [] : [{ type: 'source', source }]
  })
  return { items, cursor: page.cursor, previous: page.previous }
}

/** Returns the sources that a person publishes through, latest first. */
export async function servicesOf(data: SiteData, personId: string): Promise<readonly Source[]> {
  const services = await data.services.byPerson.all({ person_id: personId })
  if (services.length === 0) return []
  const sources = await data.sources.getMany(services.toReversed().map(({ source_id }) => source_id))
  return sources.filter((source) => source !== undefined)
}

export function isService({ services }: SiteData, personId: string, sourceId: string): Promise<boolean> {
  return services.exists(serviceId(personId, sourceId))
}
