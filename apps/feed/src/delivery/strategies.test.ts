import { someOf } from '@looseleaf-tooling/vitest/long'
import { LooseleafError, memoryShards } from 'looseleaf'
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
import { createDice } from '../day/script/dice.ts'
import { createPulledLists } from '../domain/home/pulled-lists.ts'
import { readHome } from '../domain/home/queries.ts'
import { unfollow } from '../domain/following/commands.ts'
import { removeContent } from '../domain/entries/entries.ts'
import { openSite, type Site } from '../domain/site/site.ts'
import { followId } from '../kinds/follow.ts'
import { MEDIA_KINDS, type MediaKind } from '../kinds/entry.ts'
import { pulledChannelId } from '../kinds/pulled-channel.ts'
import { serviceId } from '../kinds/service.ts'
import type { Refuse } from '../stage/faults/shard-faults.ts'
import { createStage, type Stage } from '../stage/stage.ts'
import { bumpDue } from './bump.ts'
import { COUNT_EVERY_MS } from './pulled-channels.ts'
import { handleChange } from './start-deliveries.ts'
import { hybrid, pull, push, type Strategy } from './strategy.ts'

let site: Site
let stage: Stage
beforeEach(async () => {
  stage = createStage(memoryShards(2))
  site = await openSite({ ...stage, cleaner: false })
})
afterEach(() => site.close())

/** Does some work in a process that ends before its nth call to a shard, and then again in another one. */
async function withKill(calls: number, work: () => Promise<void>): Promise<void> {
  let count = 0
  const refuse: Refuse = () =>
    count++ < calls ? undefined : new LooseleafError('SHARD_UNAVAILABLE', 'The process was killed.')
  stage.faults.refusals.add(refuse)
  await work().catch(() => {})
  stage.faults.refusals.delete(refuse)
  await work()
}

/** An entry as a person of the model sees it. */
interface Seen {
  readonly id: string
  readonly channel: string
  readonly arrived: number
  readonly media: MediaKind
  readonly via: Set<string>
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

const STRATEGIES: readonly Strategy[] = [push, hybrid(5), pull]

test.each(STRATEGIES.flatMap((strategy) => someOf([1, 2, 3], 1).map((seed) => ({ strategy, seed }))))(
  'idea 9: unread counts and the order of a home page are those of brute force: $strategy.name up to $strategy.pushUpTo, seed $seed',
  async ({ strategy, seed }) => {
    const { data, store } = site
    const { next: random, below, pick } = createDice(seed)
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
        await follow(person, channel)
      }
    }
    /** People who follow the same channels for a time. */
    const crowd = Array.from({ length: 5 }, () => store.newId())
    const popular = new Set<string>()
    const entries: string[] = []

    async function follow(person: string, channel: string): Promise<void> {
      const value = { person_id: person, channel_id: channel, since: now() }
      await data.follows.insert(value, { id: followId(person, channel) })
      await backfill(data, person, channel)
    }

    const home = (person: string): Promise<HomeRows> =>
      readHome({ data, pulledLists: createPulledLists(data) }, person)

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
        const bringing = channel === ofPublisher ? [channel, publisher] : [channel]
        const via = new Set(bringing.filter((each) => channels.has(each)))
        if (via.size === 0) continue
        const at = arrived.getTime()
        const seen = { id, channel, via, arrived: at, media, bumped: at, read: false, hidden: false }
        model.get(person)?.set(id, seen)
      }
    }

    const change = async (id: string): Promise<void> => {
      const item = await data.entries.get(id)
      const handle = (): Promise<void> => handleChange(data, { id, item }, strategy, now)
      if (random() < 0.3) await withKill(below(40), handle)
      else await handle()
    }

    async function remove(id: string): Promise<void> {
      await removeContent(data, id, { by: publisher, at: tick() })
      await change(id)
      entries.splice(entries.indexOf(id), 1)
      for (const seen of model.values()) seen.delete(id)
    }

    /** The crowd follows a channel, or follows it no more, and some time passes. */
    async function stir(): Promise<void> {
      const channel = pick([...sources, publisher])
      if (popular.delete(channel))
        for (const person of crowd) await data.follows.delete(followId(person, channel))
      else {
        popular.add(channel)
        for (const person of crowd) await follow(person, channel)
      }
      time += COUNT_EVERY_MS
    }

    async function leave(person: string): Promise<void> {
      const channels = follows.get(person) as Set<string>
      if (channels.size === 0) return
      const channel = pick([...channels])
      const removeEntries = random() < 0.5
      await unfollow(data, person, channel, { removeEntries })
      channels.delete(channel)
      const seen = model.get(person) as Map<string, Seen>
      if (removeEntries)
        for (const { id, via } of seen.values()) if (via.delete(channel) && via.size === 0) seen.delete(id)
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
      const { rows } = await home(person)
      const row = pick(rows)
      const seen = row && model.get(person)?.get(row.entry_id)
      const dice = random()
      if (dice < 0.1) {
        await markAllRead(data, person, seenUpTo(await home(person)))
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
      const found = await home(person)
      const order = orders.get(person) ?? 'newest'
      const shown = Array.from(model.get(person)?.values() ?? []).filter(({ hidden }) => !hidden)
      const timeOf = (entry: Seen): number => (order === 'newest' ? entry.arrived : entry.bumped)
      const sorted = shown.toSorted((a, b) => timeOf(b) - timeOf(a) || (a.id > b.id ? -1 : 1))
      expect(idsOf(found)).toEqual(sorted.map(({ id }) => id))
      const brought = new Map(found.rows.map(({ entry_id, via }) => [entry_id, via.toSorted()]))
      for (const { id, via } of sorted) expect(brought.get(id)).toEqual([...via].toSorted())
      const images = sorted.filter(({ media }) => media === 'image').map(({ id }) => id)
      expect(idsOf(found, 'image')).toEqual(images)
      const unread = shown.filter(({ read, arrived }) => !read && arrived > (seenBefore.get(person) ?? 0))
      const counts = new Map<string, number>()
      for (const { channel } of unread) counts.set(channel, (counts.get(channel) ?? 0) + 1)
      const { total, byChannel } = countUnread(found)
      expect(total).toBe(unread.length)
      expect(new Map(byChannel.map((item) => [item.channel_id, item.unread]))).toEqual(counts)
    }

    for (let step = 0; step < 60; step++) {
      const dice = random()
      if (dice < 0.35 || entries.length === 0) await publish()
      else if (dice < 0.45) await comment(pick(entries))
      else if (dice < 0.5) await remove(pick(entries))
      else if (dice < 0.65) await stir()
      else if (dice < 0.67) await leave(pick(people))
      else await act(pick(people))
      if (step % 5 === 0) for (const person of people) await compare(person)
    }
    for (const person of people) await compare(person)
  },
)

test('idea 4: an unfollow that removes entries keeps those that another channel brought', async () => {
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
    await handleChange(data, { id, item: await data.entries.get(id) }, push, () => now)
  }
  const brought = async (): Promise<unknown[]> =>
    (await readHome(site, person)).rows.map(({ channel_id, via }) => [channel_id, via.toSorted()])
  expect(await brought()).toHaveLength(2)
  await removeFromInbox(data, person, [blog])
  expect(await brought()).toContainEqual([blog, [mira]])
  await removeFromInbox(data, person, [mira])
  expect(await brought()).toEqual([[other, [other]]])
})

test('a channel that has lost most of its followers is delivered again, and no entry is lost through a kill at any call', async () => {
  const { data, store } = site
  const channel_id = store.newId()
  const strategy = hybrid(4)
  const [stays = '', ...crowd] = Array.from({ length: 5 }, () => store.newId())
  let time = Date.UTC(2026, 5, 1)
  const now = (): Date => new Date(time)
  const published: string[] = []

  async function join(person_id: string): Promise<void> {
    await data.follows.insert(
      { person_id, channel_id, since: now() },
      { id: followId(person_id, channel_id) },
    )
    await backfill(data, person_id, channel_id)
  }
  async function publish(killAfter?: number): Promise<void> {
    time += 1_000
    const facts = { title: 'Entry', published: now(), source_id: channel_id }
    const { id } = await data.entries.insert(freshEntry(facts, now()))
    published.unshift(id)
    const item = await data.entries.get(id)
    const handle = (): Promise<void> => handleChange(data, { id, item }, strategy, now)
    if (killAfter === undefined) await handle()
    else await withKill(killAfter, handle)
  }
  const state = async (): Promise<string | undefined> =>
    (await data.pulledChannels.get(pulledChannelId(channel_id)))?.state
  const ids = async (): Promise<string[]> =>
    (await readHome({ data, pulledLists: createPulledLists(data) }, stays)).rows.map((row) => row.entry_id)
  const inInbox = (): Promise<number> => data.inbox.byPerson.count({ person_id: stays })

  await join(stays)
  for (let killAfter = 0; killAfter < 40; killAfter += 5) {
    for (const person of crowd) await join(person)
    await publish(killAfter)
    expect(await state()).toBe('pulled')
    await publish()
    expect(await ids()).toEqual(published)
    expect(await inInbox()).toBeLessThan(published.length)
    for (const person of crowd) await data.follows.delete(followId(person, channel_id))
    // The followers are not counted again at once.
    await publish()
    expect(await state()).toBe('pulled')
    time += COUNT_EVERY_MS
    await publish(killAfter)
    expect(await state()).toBe('pushed')
    expect(await ids()).toEqual(published)
    expect(await inInbox()).toBe(published.length)
    const { pulled_by } = (await data.follows.get(followId(stays, channel_id))) ?? {}
    expect(pulled_by).toBeUndefined()
  }
})
