import { COUNT_EVERY_MS } from '../../delivery/pulled-channels.ts'
import { hybrid } from '../../delivery/strategy.ts'
import { addSources } from '../../domain/sources/add-sources.ts'
import type { Site } from '../../domain/site/site.ts'
import { followId } from '../../kinds/follow.ts'
import { pulledChannelId } from '../../kinds/pulled-channel.ts'
import { serviceId } from '../../kinds/service.ts'
import type { Publisher } from '../publishers/publisher.ts'
import { keepUnseeded } from '../sample/seed.ts'
import { followsOfCrowd } from '../script/crowd.ts'

/** Entities per batch of writes. */
const CHUNK = 500
/** Every third source is a service of a person. */
const SERVICE_EVERY = 3

export interface CrewOptions {
  readonly seed: number
  readonly people: number
  readonly readers: number
  /** Channels that each reader follows. */
  readonly follows: number
  readonly publishers: readonly Publisher[]
}

/** The people and sources of a day, and their follows, which stay the same during the day. */
export interface Crew {
  /** Ids of the people who post. */
  readonly people: readonly string[]
  readonly readers: readonly string[]
  readonly sources: readonly string[]
  /** Ids of the readers by the channel that they follow. */
  readonly followers: ReadonlyMap<string, ReadonlySet<string>>
  /** Ids of the people who publish through a source. */
  readonly publishers: ReadonlyMap<string, readonly string[]>
  /** Channels with so many followers that these read their entries at each visit. */
  readonly pulled: ReadonlySet<string>
}

/** Writes the people, the sources and the follows of a day into a new store. Rejects if the store has people. */
export async function seedCrew(site: Site, options: CrewOptions): Promise<Crew> {
  const { data } = site
  const { items } = await data.people.byTime.page({}, { limit: 1, scatter: true })
  if (items.length > 0) throw new Error('A day needs empty databases, because it checks every entry in them.')
  await keepUnseeded(data)
  const people = await addPeople(site, 'person', options.people)
  const readers = await addPeople(site, 'reader', options.readers)
  const feeds = options.publishers.map(({ feedUrl }, i) => ({ address: feedUrl, title: `Source ${i}` }))
  const saved = await addSources(data, feeds, { personId: undefined })
  const sources = saved.map(({ id }) => id)
  const publishers = await addServices(site, people, sources)
  return {
    people,
    readers,
    sources,
    publishers,
    ...(await addFollows(site, options, { people, readers, sources })),
  }
}

async function addPeople({ store, data }: Site, name: string, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => store.newId())
  const joined = new Date()
  const people = ids.map((id, i) => ({
    id,
    name: `${name}-${i}`,
    full_name: `${name === 'person' ? 'Person' : 'Reader'} ${i}`,
    bio: '',
    hue: (i * 137) % 360,
    joined,
    sample: true,
  }))
  for (let at = 0; at < count; at += CHUNK) await data.people.insertMany(people.slice(at, at + CHUNK))
  return ids
}

async function addServices(
  { data }: Site,
  people: readonly string[],
  sources: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const added = new Date()
  const services = sources
    .filter((_, i) => i % SERVICE_EVERY === 0)
    .map((source_id, i) => {
      const person_id = people[i % people.length] as string
      return { id: serviceId(person_id, source_id), person_id, source_id, added }
    })
  await data.services.insertMany(services)
  return new Map(services.map(({ source_id, person_id }) => [source_id, [person_id]]))
}

/** Writes the follows, and marks those of channels with many followers, as deliveries would at their first entry. */
async function addFollows(
  { data }: Site,
  { seed, follows: perReader }: CrewOptions,
  { people, readers, sources }: Pick<Crew, 'people' | 'readers' | 'sources'>,
): Promise<Pick<Crew, 'followers' | 'pulled'>> {
  const channels = alternate(people, sources)
  const crowd = followsOfCrowd({
    seed,
    readers: readers.length,
    channels: channels.length,
    follows: Math.min(perReader, channels.length),
  })
  const followers = new Map(channels.map((id) => [id, new Set<string>()]))
  for (const [i, followed] of crowd.entries())
    for (const channel of followed) followers.get(channels[channel] as string)?.add(readers[i] as string)
  const pulled = new Set(channels.filter((id) => (followers.get(id)?.size ?? 0) > hybrid().pushUpTo))
  const since = new Date()
  const follows = channels.flatMap((channel_id) =>
    Array.from(followers.get(channel_id) ?? [], (person_id) => ({
      id: followId(person_id, channel_id),
      person_id,
      channel_id,
      since,
      ...(pulled.has(channel_id) && { pulled_by: person_id, pulled_turn: 1 }),
    })),
  )
  for (let at = 0; at < follows.length; at += CHUNK)
    await data.follows.insertMany(follows.slice(at, at + CHUNK))
  for (const channel_id of pulled)
    await data.pulledChannels.upsert(
      pulledChannelId(channel_id),
      { channel_id, state: 'pulled', turn: 1, next_count: new Date(since.getTime() + COUNT_EVERY_MS) },
      {},
    )
  return { followers, pulled }
}

/** Joins two lists, so that people and sources are equally popular. */
function alternate(first: readonly string[], second: readonly string[]): readonly string[] {
  return Array.from({ length: Math.max(first.length, second.length) }, (_, i) => [first[i], second[i]])
    .flat()
    .filter((id) => id !== undefined)
}
