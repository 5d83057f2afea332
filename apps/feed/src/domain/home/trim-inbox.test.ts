import { memoryShards } from 'looseleaf'
import { beforeAll, expect, test } from 'vitest'
import { freshEntry } from '../entries/fresh-entry.ts'
import { backfill } from './commands.ts'
import { readHome } from './queries.ts'
import { openSite, type Site } from '../site/site.ts'
import { HOME_LIMIT, inboxItemId } from '../../kinds/inbox-item.ts'
import { INBOX_KEPT, isLookDue, trimInbox } from './trim-inbox.ts'

let site: Site
beforeAll(async () => {
  site = await openSite({ shards: memoryShards(2), cleaner: false })
  return () => site.close()
})

/** Fills an inbox with items whose times are shuffled, some of them equal. Returns the entries, newest first. */
async function fillInbox(person_id: string, count: number): Promise<string[]> {
  const { data, store } = site
  const items = Array.from({ length: count }, (_, i) => {
    const arrived = new Date(1_000 * ((i * 7) % count) - ((i * 7) % 2) * 1_000)
    const entry_id = store.newId()
    const times = { arrived, delivered: arrived, bumped: arrived }
    const marks = { media: 'text', read: false, hidden: i % 9 === 0 } as const
    const item = { person_id, entry_id, channel_id: person_id, via: [], ...times, ...marks }
    return { id: inboxItemId(person_id, entry_id), ...item }
  })
  await data.inbox.insertMany(items)
  return items
    .toSorted((a, b) => Number(b.arrived) - Number(a.arrived) || (a.entry_id > b.entry_id ? -1 : 1))
    .map(({ entry_id }) => entry_id)
}

const countOf = (person_id: string): Promise<number> => site.data.inbox.byPerson.count({ person_id })

test('a long inbox is trimmed in steps, and those behind the newest 400 come back when newer ones are removed', async () => {
  const { data, store } = site
  const person = store.newId()
  const entries = await fillInbox(person, INBOX_KEPT + 350)
  const shown = async (): Promise<string[]> =>
    (await readHome(site, person)).rows.map(({ entry_id }) => entry_id)
  const before = await shown()
  await trimInbox(data, person)
  const count = await countOf(person)
  expect(count).toBeLessThan(entries.length)
  expect(count).toBeGreaterThanOrEqual(INBOX_KEPT)
  await trimInbox(data, person)
  expect(await countOf(person)).toBe(count)
  expect(await shown()).toEqual(before)
  await data.inbox.deleteMany(entries.slice(0, HOME_LIMIT).map((entry) => inboxItemId(person, entry)))
  expect(await shown()).toHaveLength(HOME_LIMIT)
})

test('a follow that brings its newest entries trims a long inbox', async () => {
  const { data, store } = site
  const [person, channel] = [store.newId(), store.newId()]
  await fillInbox(person, INBOX_KEPT + 350)
  let id = store.newId()
  while (!isLookDue(inboxItemId(person, id))) id = store.newId()
  const now = new Date()
  await data.entries.insert(freshEntry({ title: 'Here', published: now, person_id: channel }, now), { id })
  await backfill(data, person, channel)
  expect(await countOf(person)).toBeLessThan(INBOX_KEPT + 200)
  expect((await readHome(site, person)).rows[0]?.entry_id).toBe(id)
})

test('a delivery in about 32 looks at the inbox', () => {
  const person = site.store.newId()
  const looks = Array.from({ length: 3_200 }, () => isLookDue(inboxItemId(person, site.store.newId())))
  const count = looks.filter(Boolean).length
  expect(count).toBeGreaterThan(50)
  expect(count).toBeLessThan(150)
})
