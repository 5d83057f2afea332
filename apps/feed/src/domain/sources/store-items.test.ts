import { LooseleafError, memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import type { ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import type { Entry } from '../../kinds/entry.ts'
import { removeContent } from '../entries/entries.ts'
import { postComment } from '../entries/responses.ts'
import { SKIP } from '../site/partial-reads.ts'
import { createShardFaults } from '../../stage/faults/shard-faults.ts'
import { openSite, type Site } from '../site/site.ts'
import { rss, type RssItem } from '../../../test/feed-server.ts'
import { storeItems, type StoredItems } from './store-items.ts'

const { shards, refusals } = createShardFaults(memoryShards(2))
let site: Site
let sourceId: string
beforeEach(async () => {
  site = await openSite({ shards, cleaner: false })
  sourceId = site.store.newId()
})
afterEach(async () => {
  refusals.clear()
  await site.close()
})

const now = new Date('2026-06-01T12:00:00Z')

async function store(items: readonly (RssItem | string)[], isFirst = false): Promise<StoredItems> {
  const feed = parseFile(Buffer.from(rss(items)), { name: 'f', now }) as ParsedFeed
  return storeItems(site.data, feed, { sourceId, now, isNew: isFirst, quietOld: isFirst })
}

const entries = (): Promise<Entry[]> =>
  site.data.entries.byPublisher.all({ publisher_id: sourceId }, { order: 'desc' })
const titles = async (): Promise<string[]> => (await entries()).map(({ title }) => title)

const storm = { guid: 'v1', title: 'Storm comes', link: 'http://news.example/story-1' }
const stormCame = { guid: 'v2', title: 'Storm came', link: 'https://news.example/story-1/' }

test('an item whose guid changes with its headline stays one entry, by its link', async () => {
  await store([storm, { ...storm, guid: 'other', link: 'http://news.example/story-2' }], true)
  expect(await store([stormCame])).toMatchObject({ added: 0, updated: 1 })
  expect(await store([stormCame])).toMatchObject({ added: 0, updated: 0, unchanged: 1 })
  expect((await titles()).toSorted()).toEqual(['Storm came', 'Storm comes'])
})

test('a link that several items have, or that is the site’s own, makes no two items one', async () => {
  const own = 'https://site.example/'
  await store([storm, { guid: 'a', link: own }], true)
  expect(await store([stormCame, { ...stormCame, guid: 'v3' }])).toMatchObject({ added: 2 })
  expect(await store([{ guid: 'b', link: own }])).toMatchObject({ added: 1 })
})

test('a new item with the link of an entry that is still in the feed is another entry', async () => {
  await store([storm], true)
  const page = { guid: 'v4', title: 'Comments on the storm', link: storm.link }
  expect(await store([page, storm])).toMatchObject({ added: 1, unchanged: 1 })
})

test('the same link in another source is another entry', async () => {
  await store([storm], true)
  const first = sourceId
  sourceId = site.store.newId()
  expect(await store([stormCame])).toMatchObject({ added: 1 })
  expect(sourceId).not.toBe(first)
})

test('a new title changes the entry and its time of editing; new tags do not', async () => {
  await store([{ guid: 'a', title: 'One' }], true)
  expect((await entries())[0]?.edited).toBeUndefined()
  await store([{ guid: 'a', title: 'One', link: 'https://site.example/one' }])
  expect((await entries())[0]).toMatchObject({ link: 'https://site.example/one' })
  expect((await entries())[0]?.edited).toBeUndefined()
  await store([{ guid: 'a', title: 'Two' }])
  expect(await entries()).toMatchObject([{ title: 'Two', edited: now }])
})

const hours = (count: number): Date => new Date(now.getTime() + count * 3_600_000)

test('items from the future are published when they arrive, in the order of their dates', async () => {
  await store(
    [
      { guid: 'tonight', date: hours(6) },
      { guid: 'past', date: hours(-1) },
      { guid: 'tomorrow', date: hours(20) },
    ],
    true,
  )
  expect(await titles()).toEqual(['tomorrow', 'tonight', 'past'])
  const [tomorrow, tonight, past] = await entries()
  expect([tomorrow?.published, past?.published]).toEqual([now, hours(-1)])
  expect(tonight?.published).toEqual(tonight?.arrived)
})

test('a new date alone moves no entry, and with a new title or link it does, up to the time of the change', async () => {
  const item = { guid: 'a', title: 'One', link: 'https://site.example/one' }
  const published = async (): Promise<unknown> => (await entries())[0]?.published
  await store([{ ...item, date: hours(-9) }], true)
  for (const later of [-5, 5])
    expect(await store([{ ...item, date: hours(later) }])).toMatchObject({ updated: 0, unchanged: 1 })
  expect(await published()).toEqual(hours(-9))
  await store([{ ...item, title: 'Two', date: hours(-4) }])
  expect(await published()).toEqual(hours(-4))
  await store([{ ...item, title: 'Two', link: 'https://site.example/two', date: hours(5) }])
  expect(await published()).toEqual(now)
})

test('all but the twenty newest items of a first fetch are quiet, and later items are not', async () => {
  const date = (day: number): Date => new Date(Date.UTC(2026, 0, day))
  const items = Array.from({ length: 30 }, (_, i) => ({ guid: `${i}`, date: date(i + 1) }))
  await store(items, true)
  const loud = (await entries()).filter(({ quiet }) => !quiet).map(({ title }) => title)
  expect(loud).toEqual(Array.from({ length: 20 }, (_, i) => `${29 - i}`))
  await store([{ guid: 'old', date: new Date(0) }, ...items])
  expect((await entries()).find(({ title }) => title === 'old')?.quiet).toBe(false)
})

test('an item that has fallen off the end of its feed stays', async () => {
  await store(['a', 'b', 'c'], true)
  await store(['d'])
  expect((await titles()).toSorted()).toEqual(['a', 'b', 'c', 'd'])
})

test('storing an unchanged feed writes nothing', async () => {
  await store([storm, 'a', 'b'], true)
  const before = (await entries()).map(({ id, version }) => [id, version])
  expect(await store([storm, 'a', 'b'])).toMatchObject({ added: 0, updated: 0, unchanged: 3 })
  expect((await entries()).map(({ id, version }) => [id, version])).toEqual(before)
})

const atom = (text: string): ParsedFeed =>
  parseFile(
    Buffer.from(
      `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0"><title>F</title>${text}</feed>`,
    ),
    { name: 'f', now },
  ) as ParsedFeed

test('an entry that its feed has deleted loses its content, keeps its comments, and does not come back', async () => {
  const entry = '<entry><id>urn:1</id><title>One</title></entry>'
  const tombstone = '<at:deleted-entry ref="urn:1" when="2026-05-01T00:00:00Z"/>'
  const options = { sourceId, now, isNew: false, quietOld: false }
  await storeItems(site.data, atom(entry), options)
  const { id } = (await entries())[0] as Entry
  const person_id = site.store.newId()
  await postComment(site.data, { entry_id: id, person_id, text: 'Why?' })
  expect(await storeItems(site.data, atom(tombstone), options)).toMatchObject({ deleted: 1 })
  expect(await storeItems(site.data, atom(tombstone), options)).toMatchObject({ deleted: 0 })
  expect(await storeItems(site.data, atom(entry), options)).toMatchObject({ added: 0, updated: 0 })
  expect(await site.data.entries.get(id)).toMatchObject({ title: '', removed: { by: sourceId, at: now } })
  expect(await site.data.comments.byEntry.all({ entry_id: id })).toMatchObject([{ text: 'Why?' }])
})

test('a feed that is stored twice at the same time adds each entry once', async () => {
  const stored = await Promise.all([store([storm, 'a', 'b'], true), store([storm, 'a', 'b'], true)])
  const sum = (of: 'added' | 'unchanged' | 'failed'): number => stored[0]![of] + stored[1]![of]
  expect([sum('added'), sum('unchanged'), sum('failed')]).toEqual([3, 3, 0])
})

test('a new title that overlaps the removal of its entry does not bring the content back', async () => {
  await store([{ guid: 'a', title: 'One' }], true)
  const { id } = (await entries())[0] as Entry
  await Promise.all([
    store([{ guid: 'a', title: 'Two' }]),
    removeContent(site.data, id, { by: sourceId, at: now }),
  ])
  expect(await site.data.entries.get(id)).toMatchObject({ title: '', removed: { by: sourceId } })
})

test('a changed entry that is deleted meanwhile fails alone, so that the next fetch brings it again', async () => {
  await store([{ guid: 'a', title: 'One' }, 'b'], true)
  const a = (await entries()).find(({ title }) => title === 'One') as Entry
  const { entries: kept } = site.data
  const getMany: typeof kept.getMany = async (...args: Parameters<typeof kept.getMany>) => {
    const found = await kept.getMany(...args)
    await kept.delete(a.id)
    return found as never
  }
  const data = { ...site.data, entries: { ...kept, getMany } }
  const feed = parseFile(Buffer.from(rss([{ guid: 'a', title: 'Two' }, 'b'])), {
    name: 'f',
    now,
  }) as ParsedFeed
  const stored = await storeItems(data, feed, { sourceId, now, isNew: false, quietOld: false })
  expect(stored).toMatchObject({ updated: 0, unchanged: 1, failed: 1 })
  expect(await store([{ guid: 'a', title: 'Two' }, 'b'])).toMatchObject({ added: 1, unchanged: 1, failed: 0 })
})

/** Stops the shard that does not have the rows of the source. */
async function stopOther(): Promise<void> {
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down.')
  for (const name of ['memory 0', 'memory 1']) {
    refusals.clear()
    refusals.add(({ shard }) => (shard === name ? down : undefined))
    const { unread } = await site.data.sources.getMany([sourceId], SKIP)
    if (unread.length === 0) return
  }
}

test('while a shard is stopped, items on it fail alone, and a later fetch stores them once each', async () => {
  const items = Array.from({ length: 40 }, (_, i) => ({ guid: `${i}`, link: `https://site.example/${i}` }))
  await store(items.slice(0, 20), true)
  // Half of the known items get another guid, which leads to their entries by their links.
  const later = items.map((item, i) => (i < 10 ? { ...item, guid: `new ${i}`, title: `${i}` } : item))
  await stopOther()
  const partial = await store(later)
  expect(partial.failed).toBeGreaterThan(0)
  expect(partial.added).toBeGreaterThan(0)
  expect(partial.added + partial.unchanged + partial.failed).toBe(40)
  refusals.clear()
  expect(await store(later)).toMatchObject({ added: 20 - partial.added, failed: 0 })
  const all = (await titles()).toSorted((a, b) => Number(a) - Number(b))
  expect(all).toEqual(items.map(({ guid }) => guid))
})

test('while a shard is stopped, entries on it that the feed has deleted are removed by a later fetch', async () => {
  const ids = Array.from({ length: 20 }, (_, i) => `urn:${i}`)
  const options = { sourceId, now, isNew: false, quietOld: false }
  await storeItems(
    site.data,
    atom(ids.map((id) => `<entry><id>${id}</id><title>One</title></entry>`).join('')),
    options,
  )
  const tombstones = atom(ids.map((id) => `<at:deleted-entry ref="${id}"/>`).join(''))
  await stopOther()
  const { deleted, failed } = await storeItems(site.data, tombstones, options)
  expect([deleted > 0, failed > 0, deleted + failed]).toEqual([true, true, 20])
  refusals.clear()
  expect(await storeItems(site.data, tombstones, options)).toMatchObject({ deleted: failed, failed: 0 })
  expect(await entries()).toEqual([])
})

test('an entry that an undo deletes while its feed removes it is no error', async () => {
  const options = { sourceId, now, isNew: false, quietOld: false }
  await storeItems(site.data, atom('<entry><id>urn:1</id><title>One</title></entry>'), options)
  const getMany = async (...args: Parameters<typeof site.data.entries.getMany>) => {
    const found = await site.data.entries.getMany(...args)
    for (const { id } of await entries()) await site.data.entries.delete(id)
    return found
  }
  const data = { ...site.data, entries: { ...site.data.entries, getMany } } as unknown as typeof site.data
  await storeItems(data, atom('<at:deleted-entry ref="urn:1"/>'), options)
  expect(await entries()).toEqual([])
})

test('a first fetch is not stored in parts, because its old items would be news later', async () => {
  await stopOther()
  await expect(
    store(
      Array.from({ length: 40 }, (_, i) => `${i}`),
      true,
    ),
  ).rejects.toThrow('down')
  refusals.clear()
  expect(await entries()).toEqual([])
})
