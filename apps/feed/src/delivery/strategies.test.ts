import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freshEntry } from '../domain/entries/fresh-entry.ts'
import {
  backfill,
  markAllRead,
  markRead,
  removeFromInbox,
  setHidden,
  setOrder,
} from '../domain/home/commands.ts'
import { countUnread, cutHome, seenUpTo, type HomeOrder, type HomeRows } from '../domain/home/home-list.ts'
import { readHome } from '../domain/home/queries.ts'
import { openSite, type Site } from '../domain/site/site.ts'
import { followId } from '../kinds/follow.ts'
import { MEDIA_KINDS, type MediaKind } from '../kinds/entry.ts'
import { serviceId } from '../kinds/service.ts'
import { bumpDue } from './bump.ts'
import { handleChange } from './start-deliveries.ts'
import { hybrid, pull, push, type Strategy } from './strategy.ts'

let site: Site
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(2), cleaner: false })
})
afterEach(() => site.close())

/** Returns numbers from 0 to 1 that look random and depend on the seed alone. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** An entry as a person of the model sees it. */
interface Seen {
  readonly id: string
  readonly channel: string
  readonly arrived: number
  readonly media: MediaKind
  bumped: number
  read: boolean
  hidden: boolean
}

/** Lists all pages of a home. */
function idsOf(home: HomeRows, media?: MediaKind): string[] {
  const ids: string[] = []
  let after: string | undefined
  do {
    const part = cutHome(home, { media, after })
    ids.push(...(part?.rows ?? []).map(({ entry_id }) => entry_id))
    after = part?.cursor
  } while (after !== undefined)
  return ids
}

const STRATEGIES: readonly Strategy[] = [push, hybrid(1), pull]

test.each(STRATEGIES.flatMap((strategy) => [1, 2, 3].map((seed) => ({ strategy, seed }))))(
  'idea 9: unread counts and the order of a home page are those of brute force: $strategy.name, seed $seed',
  async ({ strategy, seed }) => {
    const { data, store } = site
    const random = randomFrom(seed)
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
    let time = Date.UTC(2026, 5, 1)
    const tick = (): Date => new Date((time += 1_000 * Math.ceil(10 * random())))
    const now = (): Date => new Date(time)
    const people = Array.from({ length: 3 }, () => store.newId())
    const publisher = store.newId()
    const sources = Array.from({ length: 3 }, () => store.newId())
    const [ofPublisher = ''] = sources
    const service = { person_id: publisher, source_id: ofPublisher, added: now() }
    await data.services.insert(service, { id: serviceId(publisher, ofPublisher) })
    /** Followed channels and entries by person. */
    const follows = new Map(people.map((person) => [person, new Set<string>()]))
    const model = new Map(people.map((person) => [person, new Map<string, Seen>()]))
    const seenBefore = new Map(people.map((person) => [person, 0]))
    const orders = new Map<string, HomeOrder>(people.map((person) => [person, 'newest']))
    for (const person of people) {
      for (const channel of [pick(sources), pick(sources), publisher]) {
        if (random() < 0.2 || follows.get(person)?.has(channel)) continue
        follows.get(person)?.add(channel)
        const follow = { person_id: person, channel_id: channel, since: now() }
        await data.follows.insert(follow, { id: followId(person, channel) })
        await backfill(data, person, channel)
      }
    }
    const entries: string[] = []

    async function publish(): Promise<void> {
      const channel = pick([...sources, publisher])
      const media = pick(MEDIA_KINDS)
      const arrived = tick()
      const from = channel === publisher ? { person_id: channel } : { source_id: channel }
      const facts = { title: `Entry ${entries.length}`, published: arrived, ...from }
      const { id } = await data.entries.insert({ ...freshEntry(facts, arrived), media_kind: media })
      entries.push(id)
      await change(id)
      for (const [person, channels] of follows) {
        const isBrought = channels.has(channel) || (channel === ofPublisher && channels.has(publisher))
        if (!isBrought) continue
        const at = arrived.getTime()
        const seen = { id, channel, arrived: at, media, bumped: at, read: false, hidden: false }
        model.get(person)?.set(id, seen)
      }
    }

    const change = async (id: string): Promise<void> => {
      const entity = await store.get(id)
      await handleChange(data, { id, entity }, strategy, now)
    }

    async function comment(id: string): Promise<void> {
      const bumped = tick()
      await data.entries.update(id, ({ comments }) => ({ comments: comments + 1, bumped }))
      await change(id)
      for (const seen of model.values()) {
        const entry = seen.get(id)
        if (entry !== undefined) entry.bumped = bumped.getTime()
      }
      // A minute later all items know it.
      time += 60_000
      await bumpDue(data, now())
    }

    async function act(person: string): Promise<void> {
      const home = await readHome(data, person)
      const row = pick(home.rows)
      const seen = row && model.get(person)?.get(row.entry_id)
      const dice = random()
      if (dice < 0.1) {
        await markAllRead(data, person, seenUpTo(home))
        seenBefore.set(person, Math.max(seenBefore.get(person) ?? 0, time))
      } else if (dice < 0.15) {
        const order = pick(['newest', 'activity'] as const)
        await setOrder(data, person, order)
        orders.set(person, order)
      } else if (row !== undefined && seen !== undefined && dice < 0.7) {
        await markRead(data, person, row)
        seen.read = true
      } else if (row !== undefined && seen !== undefined) {
        seen.hidden = random() < 0.6
        await setHidden(data, person, row, seen.hidden)
      }
    }

    async function compare(person: string): Promise<void> {
      const home = await readHome(data, person)
      const order = orders.get(person) ?? 'newest'
      const shown = Array.from(model.get(person)?.values() ?? []).filter(({ hidden }) => !hidden)
      const timeOf = (entry: Seen): number => (order === 'newest' ? entry.arrived : entry.bumped)
      const sorted = shown.toSorted((a, b) => timeOf(b) - timeOf(a) || (a.id > b.id ? -1 : 1))
      expect(idsOf(home)).toEqual(sorted.map(({ id }) => id))
      const images = sorted.filter(({ media }) => media === 'image').map(({ id }) => id)
      expect(idsOf(home, 'image')).toEqual(images)
      const unread = shown.filter(({ read, arrived }) => !read && arrived > (seenBefore.get(person) ?? 0))
      const counts = new Map<string, number>()
      for (const { channel } of unread) counts.set(channel, (counts.get(channel) ?? 0) + 1)
      const { total, byChannel } = countUnread(home)
      expect(total).toBe(unread.length)
      expect(new Map(byChannel.map((item) => [item.channel_id, item.unread]))).toEqual(counts)
    }

    for (let step = 0; step < 60; step++) {
      const dice = random()
      if (dice < 0.4 || entries.length === 0) await publish()
      else if (dice < 0.5) await comment(pick(entries))
      else await act(pick(people))
      if (step % 5 === 0) for (const person of people) await compare(person)
    }
    for (const person of people) await compare(person)
  },
)

test('an unfollow that removes entries keeps those that another channel brought', async () => {
  const { data, store } = site
  const [person, mira, blog, other] = Array.from({ length: 4 }, () => store.newId()) as [
    string,
    string,
    string,
    string,
  ]
  const now = new Date()
  await data.services.insert({ person_id: mira, source_id: blog, added: now }, { id: serviceId(mira, blog) })
  for (const channel_id of [mira, blog, other])
    await data.follows.insert(
      { person_id: person, channel_id, since: now },
      { id: followId(person, channel_id) },
    )
  for (const source_id of [blog, other]) {
    const { id } = await data.entries.insert(freshEntry({ title: source_id, published: now, source_id }, now))
    await handleChange(data, { id, entity: await store.get(id) }, push, () => now)
  }
  const brought = async (): Promise<unknown[]> =>
    (await readHome(data, person)).rows.map(({ channel_id, via }) => [channel_id, via.toSorted()])
  expect(await brought()).toHaveLength(2)
  await removeFromInbox(data, person, blog)
  expect(await brought()).toContainEqual([blog, [mira]])
  await removeFromInbox(data, person, mira)
  expect(await brought()).toEqual([[other, [other]]])
})
