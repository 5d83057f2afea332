import { cleanIndex, memoryShards, tableKind, type Trace } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import { storeFeed } from '../imports/store-feed.ts'
import type { ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import { cardsOf } from '../entries/cards.ts'
import { offeredIndexes } from '../../kinds/site-data.ts'
import {
  alsoShared,
  deleteEntry,
  entriesOfPerson,
  entriesOfSource,
  newestEntries,
  postEntry,
} from '../entries/entries.ts'
import { personByName } from '../accounts/people.ts'
import { commentsOn, likeEntry, postComment } from '../entries/responses.ts'
import { settingOnce } from './settings.ts'
import { linkId, type Entry } from '../../kinds/entry.ts'
import { addressKey } from '../../text/web-link.ts'
import { openSite, type Site } from './site.ts'

let site: Site
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
})
afterEach(() => site.close())

async function addPerson(name: string): Promise<string> {
  const person = { name, full_name: name.toUpperCase(), bio: '', hue: 1, joined: new Date() }
  return (await site.data.people.insert(person)).id
}

function feedOf(items: string): ParsedFeed {
  const xml = `<rss version="2.0"><channel><title>F</title><link>https://example.org/</link>${items}</channel></rss>`
  return parseFile(Buffer.from(xml), { name: 'f', now: new Date() }) as ParsedFeed
}

test('a person is found by name on one shard', async () => {
  const id = await addPerson('ann')
  await site.store.trace(async (trace) => {
    expect((await personByName(site.data, 'Ann'))?.id).toBe(id)
    expect(trace.statements.map(({ table }) => tableKind(table))).toEqual(['index', 'entities'])
  })
})

/** Returns the shards whose indexes were asked. */
function shardsOfIndexes({ statements }: Trace): string[] {
  return [
    ...new Set(statements.filter(({ table }) => tableKind(table) === 'index').map(({ shard }) => shard)),
  ]
}

test('the home page asks all shards, and a person’s entries one shard', async () => {
  const person_id = await addPerson('ann')
  for (let i = 0; i < 5; i++)
    await postEntry(site.data, { person_id, title: `${i}`, link: undefined }, { now: new Date(i) })
  await site.store.trace(async (trace) => {
    const { items } = await newestEntries(site.data)
    expect(items.map((entry) => entry.title)).toEqual(['4', '3', '2', '1', '0'])
    expect(shardsOfIndexes(trace)).toHaveLength(3)
  })
  await site.store.trace(async (trace) => {
    expect((await entriesOfPerson(site.data, person_id, [])).items).toHaveLength(5)
    expect(shardsOfIndexes(trace)).toHaveLength(1)
  })
})

test('the home page shows only entries, although all entities are in one store', async () => {
  const person_id = await addPerson('ann')
  const entry_id = await postEntry(site.data, { person_id, title: 'entry', link: undefined })
  await postComment(site.data, { entry_id, person_id, text: 'comment' })
  await likeEntry(site.data, entry_id, person_id)
  expect((await newestEntries(site.data)).items.map((entry) => entry.id)).toEqual([entry_id])
})

test('a card has people, comments and likes, and reads each person once', async () => {
  const ann = await addPerson('ann')
  const bob = await addPerson('bob')
  const entry_id = await postEntry(site.data, { person_id: ann, title: 'entry', link: undefined })
  for (let i = 0; i < 5; i++)
    await postComment(site.data, { entry_id, person_id: bob, text: `${i}` }, { now: new Date(i) })
  await likeEntry(site.data, entry_id, bob)
  const entry = await site.data.entries.get(entry_id)
  const [card] = await cardsOf(site.data, entry === undefined ? [] : [entry], bob)
  expect(card?.person?.full_name).toBe('ANN')
  expect(card?.comments.total).toBe(5)
  expect(card?.comments.items.map((comment) => comment.text)).toEqual(['2', '3', '4'])
  expect(card?.likes).toMatchObject({ total: 1, items: [{ person: { name: 'bob' } }] })
  expect(card?.liked).toBe(true)
})

test('entries with the same link find each other while the index exists, until a link changes', async () => {
  const person_id = await addPerson('ann')
  const link = 'https://example.com/x'
  const first = await postEntry(site.data, { person_id, title: 'one', link })
  const second = await postEntry(site.data, { person_id, title: 'two', link })
  const entry = await site.data.entries.get(first)
  if (entry === undefined) throw new Error('The entry was just posted.')
  const shared = async (): Promise<string[]> => (await alsoShared(site.data, entry)).map(({ id }) => id)
  expect(await shared()).toEqual([])
  await site.store.addIndex(offeredIndexes)
  expect(await shared()).toEqual([])
  for (const { name } of offeredIndexes) await cleanIndex(site.store, name)
  expect(await shared()).toEqual([second])
  await site.data.entries.update(second, {
    link: 'https://example.com/y',
    link_key: linkId(addressKey('https://example.com/y')),
  })
  expect(await shared()).toEqual([])
})

test('deleting an entry deletes its comments and likes, unless it has changed since it was read', async () => {
  const person_id = await addPerson('ann')
  const entry_id = await postEntry(site.data, { person_id, title: 'entry', link: undefined })
  const entry = async (): Promise<Entry> => (await site.data.entries.get(entry_id))!
  const fresh = await entry()
  await postComment(site.data, { entry_id, person_id, text: 'comment' })
  const commented = await entry()
  await likeEntry(site.data, entry_id, person_id)
  for (const stale of [fresh, commented]) expect(await deleteEntry(site.data, stale)).toBe(false)
  expect((await commentsOn(site.data, entry_id)).items).toHaveLength(1)
  expect(await deleteEntry(site.data, await entry())).toBe(true)
  expect((await commentsOn(site.data, entry_id)).items).toEqual([])
  const remaining: unknown[] = []
  for await (const entity of site.store.scan()) remaining.push(entity['_kind'])
  expect(remaining).toEqual(['person'])
})

test('an unchanged item is not written again, and an item without a date keeps the time of its first import', async () => {
  const feed = feedOf('<item><guid>1</guid><title>undated</title></item>')
  const { sourceId } = await storeFeed(site.data, feed, undefined, new Date('2026-01-01T00:00:00Z'))
  const before = (await entriesOfSource(site.data, sourceId)).items[0]
  expect(await storeFeed(site.data, feed, undefined, new Date('2026-02-02T00:00:00Z'))).toMatchObject({
    unchanged: 1,
  })
  expect((await entriesOfSource(site.data, sourceId)).items).toEqual([before])

  const changed = feedOf('<item><guid>1</guid><title>retitled</title></item>')
  expect(await storeFeed(site.data, changed, undefined, new Date('2026-03-03T00:00:00Z'))).toMatchObject({
    updated: 1,
  })
  expect((await entriesOfSource(site.data, sourceId)).items).toEqual([
    {
      ...before,
      title: 'retitled',
      terms: ['retitled'],
      edited: new Date('2026-03-03'),
      version: expect.any(Number),
    },
  ])
})

test('comments survive the import of a changed entry', async () => {
  const person_id = await addPerson('ann')
  const { sourceId } = await storeFeed(
    site.data,
    feedOf('<item><guid>1</guid><title>a</title></item>'),
    person_id,
    new Date(),
  )
  const entry_id = (await entriesOfSource(site.data, sourceId)).items[0]?.id ?? ''
  await postComment(site.data, { entry_id, person_id, text: 'still here' })
  await storeFeed(site.data, feedOf('<item><guid>1</guid><title>b</title></item>'), person_id, new Date())
  expect((await commentsOn(site.data, entry_id)).items.map(({ text }) => text)).toEqual(['still here'])
})

test('concurrent processes agree on the value of a new setting', async () => {
  let count = 0
  const values = await Promise.all(
    Array.from({ length: 8 }, () => settingOnce(site.data.settings, 's', () => `${count++}`)),
  )
  expect(new Set(values).size).toBe(1)
})

test('a message, its comments and its likes are in the bucket of their person', async () => {
  const person_id = await addPerson('ann')
  const fan = await addPerson('bob')
  const entry_id = await postEntry(site.data, { person_id, title: 'x', link: undefined })
  const comment = await postComment(site.data, { entry_id, person_id: fan, text: 'y' })
  await likeEntry(site.data, entry_id, fan)
  const [like] = await site.data.likes.byEntry.all({ entry_id })
  // The twelve bits after the version are the bucket.
  for (const id of [entry_id, comment, like?.id]) expect(id?.slice(15, 18)).toBe(person_id.slice(15, 18))
})
