import { listPeople } from '../../domain/accounts/people.ts'
import { sessionsOf } from '../../domain/accounts/sessions.ts'
import { requireAll } from '../../domain/site/require-all.ts'
import type { Site } from '../../domain/site/site.ts'
import { isThere } from '../../domain/site/unless-there.ts'
import { followId } from '../../kinds/follow.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { DAY_BROWSER } from '../traffic/browser.ts'
import { followsOfCrowd } from '../script/crowd.ts'

/** Channels that each person follows during the day. */
const FOLLOWS = 12

/** Returns the ids of so many people who play: the sample people, and players who are added once. */
export async function gatherPlayers({ data, store }: Site, count: number): Promise<readonly string[]> {
  const { items } = await listPeople(data)
  const known = items.filter(({ sample }) => sample).slice(0, count)
  const names = Array.from({ length: count - known.length }, (_, i) => `player-${i + 1}`)
  const found = await data.people.byName.pageMany(
    names.map((name) => ({ name })),
    { limit: 1 },
  )
  const joined = new Date()
  const ids = known.map(({ id }) => id)
  for (const [i, name] of names.entries()) {
    const there = found[i]?.items[0]
    const id = there?.id ?? store.newId()
    ids.push(id)
    if (there !== undefined) continue
    const full_name = `Player ${i + 1}`
    await data.people.insert({ name, full_name, bio: 'Plays a day.', hue: (i * 137) % 360, joined }, { id })
  }
  return ids
}

/** Lets the people follow some of the channels. Returns the ids of the follows that are new. */
export async function followForDay(
  { follows }: SiteData,
  people: readonly string[],
  channels: readonly string[],
  seed: number,
): Promise<readonly string[]> {
  const crowd = followsOfCrowd({
    seed,
    readers: people.length,
    channels: channels.length,
    follows: Math.min(FOLLOWS, channels.length),
  })
  const since = new Date()
  const wanted = crowd.flatMap((numbers, i) => {
    const person_id = people[i] as string
    return [...numbers]
      .map((number) => channels[number] as string)
      .filter((channel_id) => channel_id !== person_id)
      .map((channel_id) => ({ id: followId(person_id, channel_id), person_id, channel_id, since }))
  })
  const fates = await follows.insertMany(wanted, { fates: true })
  requireAll(fates, isThere)
  return wanted.filter((_, i) => fates[i]?.ok).map(({ id }) => id)
}

/** Ends the sessions that a day has begun for these people. */
export async function signOutOfDay(data: SiteData, people: readonly string[]): Promise<void> {
  for (const person of people) {
    const sessions = await sessionsOf(data, person)
    const ended = sessions.filter(({ browser }) => browser === DAY_BROWSER).map(({ id }) => id)
    await data.sessions.deleteMany(ended)
  }
}
