import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import type { ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import { endLease, takeDue, type LeasedSource } from '../../crawler/due.ts'
import { storeFeed, storeSubscriptions, type StoredSubscriptions } from './store-feed.ts'
import { entriesOfSource, removeContent } from '../entries/entries.ts'
import { follow } from '../following/commands.ts'
import { importsOf } from './imports.ts'
import { undoImport } from './undo-import.ts'
import { likeEntry, postComment } from '../entries/responses.ts'
import { openSite, type Site } from '../site/site.ts'
import { followId } from '../../kinds/follow.ts'
import { pulledChannelId } from '../../kinds/pulled-channel.ts'
import { fetchedSourceId } from '../sources/source-names.ts'
import { listSources } from '../sources/sources.ts'
import { storeItems } from '../sources/store-items.ts'
import { rss } from '../../../test/feed-server.ts'

const now = new Date('2026-06-01T12:00:00Z')
let site: Site
let ann: string
let bob: string
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
  ann = site.store.newId()
  bob = site.store.newId()
})
afterEach(() => site.close())

/** Imports a feed with these items and returns the id of its source. */
async function importFeed(...titles: string[]): Promise<string> {
  const items = titles.map((title) => `<item><guid>${title}</guid><title>${title}</title></item>`)
  const xml = `<rss version="2.0"><channel><title>F</title><link>https://example.org/</link>${items.join('')}</channel></rss>`
  const parsed = parseFile(Buffer.from(xml), { name: 'f', now })
  if (parsed.type !== 'feed') throw new TypeError('That is a feed.')
  return (await storeFeed(site.data, parsed, ann, now)).sourceId
}

/** Address of a subscription of `importList`. */
const address = (i: number): string => `https://example.org/${i}.xml`
/** Id of the source of a subscription of `importList`. */
const listed = (i: number): string => fetchedSourceId(address(i))

/** Imports a list of so many subscriptions for Ann. */
async function importList(
  length: number,
  { follow: follows = true, data = site.data } = {},
): Promise<StoredSubscriptions> {
  const outlines = Array.from({ length }, (_, i) => `<outline text="${i}" xmlUrl="${address(i)}"/>`)
  const opml = `<opml version="2.0"><head><title>My list</title></head><body>${outlines.join('')}</body></opml>`
  const parsed = parseFile(Buffer.from(opml), { name: 'l', now })
  if (parsed.type !== 'opml') throw new TypeError('That is a list.')
  return storeSubscriptions(data, parsed, { personId: ann, follow: follows, now })
}

/** Stores an entry of a source, as the crawler does, and returns its id. */
async function fetchItem(sourceId: string): Promise<string> {
  const feed = parseFile(Buffer.from(rss(['a'])), { name: 'f', now })
  if (feed.type !== 'feed') throw new TypeError('That is a feed.')
  await storeItems(site.data, feed, { sourceId, now, isNew: true, quietOld: true })
  return (await entriesOfSource(site.data, sourceId)).items[0]!.id
}

const followedBy = async (personId: string): Promise<string[]> =>
  (await site.data.follows.byPerson.all({ person_id: personId }))
    .map(({ channel_id }) => channel_id)
    .toReversed()
const inboxOf = async (personId: string): Promise<string[]> =>
  (await site.data.inbox.byPerson.all({ person_id: personId })).map(({ entry_id }) => entry_id)

const imports = async (): Promise<[string, number, number][]> =>
  (await importsOf(site.data, ann)).items.map(({ title, entries, sources }) => [title, entries, sources])
const newest = async (): Promise<string> => (await importsOf(site.data, ann)).items[0]?.id ?? ''
const titlesIn = async (sourceId: string): Promise<string[]> =>
  (await entriesOfSource(site.data, sourceId)).items.map(({ title }) => title).toSorted()
const sourceCount = async (): Promise<number> => (await listSources(site.data)).items.length

test('an import counts the entities that it created, and is not stored if there are none', async () => {
  await importFeed('a', 'b')
  await importFeed('a', 'b')
  expect(await imports()).toEqual([['F', 2, 1]])
})

test('undoing an import deletes all of its entities, which can be imported again', async () => {
  const source = await importFeed('a', 'b', 'c')
  const undone = await undoImport(site.data, await newest(), ann)
  expect(undone).toMatchObject({ entries: 3, sources: 1, keptEntries: 0, import: { title: 'F' } })
  expect([await imports(), await titlesIn(source), await sourceCount()]).toEqual([[], [], 0])
  expect(await importFeed('a', 'b', 'c')).toBe(source)
  expect(await imports()).toEqual([['F', 3, 1]])
  const kinds: unknown[] = []
  for await (const entity of site.store.scan()) kinds.push(entity['_kind'])
  expect(kinds.toSorted()).toEqual(['entry', 'entry', 'entry', 'import', 'service', 'source'])
})

test('undoing an import keeps entries with comments or likes of others, and the import itself', async () => {
  const source = await importFeed('commented', 'liked', 'own', 'none')
  const entries = (await entriesOfSource(site.data, source)).items
  const idOf = (title: string): string => entries.find((entry) => entry.title === title)?.id ?? ''
  for (let i = 0; i < 60; i++)
    await postComment(site.data, { entry_id: idOf('commented'), person_id: ann, text: `${i}` })
  await postComment(site.data, { entry_id: idOf('commented'), person_id: bob, text: 'The last one' })
  await likeEntry(site.data, idOf('liked'), bob)
  await postComment(site.data, { entry_id: idOf('own'), person_id: ann, text: 'Mine' })
  await likeEntry(site.data, idOf('own'), ann)
  const id = await newest()
  expect(await undoImport(site.data, id, ann)).toMatchObject({ entries: 2, sources: 0, keptEntries: 2 })
  expect(await titlesIn(source)).toEqual(['commented', 'liked'])
  expect(await imports()).toEqual([['F', 2, 1]])
  expect(await undoImport(site.data, id, ann)).toMatchObject({ entries: 0, keptEntries: 2 })
  await site.data.entries.delete(idOf('liked'))
  await site.data.entries.delete(idOf('commented'))
  expect(await undoImport(site.data, id, ann)).toMatchObject({ entries: 0, sources: 1, keptEntries: 0 })
  expect([await imports(), await sourceCount()]).toEqual([[], 0])
})

test('undoing an import hands a source with entries of another import to that import', async () => {
  const source = await importFeed('a')
  const first = await newest()
  await importFeed('a', 'b')
  const second = (await importsOf(site.data, ann)).items.find(({ id }) => id !== first)?.id ?? ''
  expect(await undoImport(site.data, first, ann)).toMatchObject({ entries: 1, sources: 0, keptEntries: 0 })
  expect([await titlesIn(source), await sourceCount()]).toEqual([['b'], 1])
  expect(await undoImport(site.data, first, ann)).toBeUndefined()
  expect(await undoImport(site.data, second, ann)).toMatchObject({ entries: 1, sources: 1 })
  expect(await sourceCount()).toBe(0)
})

test('undoing a list keeps the sources that have entries by now, or that others follow', async () => {
  await importList(250, { follow: false })
  expect(await imports()).toEqual([['My list', 0, 250]])
  const [filled, followed, own] = [listed(7), listed(8), listed(9)]
  await fetchItem(filled)
  await Promise.all([follow(site.data, bob, followed), follow(site.data, ann, own)])
  expect(await undoImport(site.data, await newest(), ann)).toMatchObject({ entries: 0, sources: 248 })
  expect(await titlesIn(filled)).toEqual(['a'])
  expect(await site.data.sources.exists(followed)).toBe(true)
  expect(await site.data.follows.byChannel.all({ channel_id: own })).toEqual([])
  expect(await imports()).toEqual([])
})

test('an import follows the sources of a list in its order, and brings the entries that are there', async () => {
  await importList(3, { follow: false })
  expect(await followedBy(ann)).toEqual([])
  const [entry, pulled] = [await fetchItem(listed(1)), listed(2)]
  await fetchItem(pulled)
  await site.data.pulledChannels.insert(
    { channel_id: pulled, state: 'pulled', turn: 1, next_count: now },
    { id: pulledChannelId(pulled) },
  )
  for (let i = 0; i < 2; i++) {
    expect(await importList(120)).toEqual({
      added: i === 0 ? 117 : 0,
      known: i === 0 ? 3 : 120,
      followed: true,
    })
    expect(await followedBy(ann)).toEqual(Array.from({ length: 120 }, (_, at) => listed(at)))
    expect(await inboxOf(ann)).toEqual([entry])
    expect(await site.data.follows.get(followId(ann, pulled))).toMatchObject({ pulled_by: ann })
  }
})

test('a second import completes the follows of an interrupted one', async () => {
  await importList(1, { follow: false })
  const entry = await fetchItem(listed(0))
  const { follows, inbox } = site.data
  let writes = 0
  const insert: typeof follows.insert = (...args) => {
    if (++writes > 70) throw new Error('The process ends here.')
    return follows.insert(...args)
  }
  const insertMany = (): never => {
    throw new Error('The process ends here.')
  }
  const data = {
    ...site.data,
    follows: { ...follows, insert },
    inbox: { ...inbox, insertMany },
  } as unknown as typeof site.data
  await expect(importList(120, { data })).rejects.toThrow('The process ends here.')
  expect(await inboxOf(ann)).toEqual([])
  expect(await importList(120)).toMatchObject({ known: 120 })
  expect(await followedBy(ann)).toHaveLength(120)
  expect(await inboxOf(ann)).toEqual([entry])
})

/** Takes all sources that are due, as the crawler does before it fetches them. */
const takeAll = (): Promise<LeasedSource[]> =>
  takeDue(site.data, {
    limit: 100,
    leaseMs: 60_000,
    now,
    reserve: () => true,
    release: () => undefined,
    onError: () => undefined,
  })

test('undoing a list keeps a source that is being fetched, and the import until the fetch has ended', async () => {
  await importList(3)
  const id = await newest()
  const [fetched, ...others] = await takeAll()
  await Promise.all(others.map((source) => endLease(site.data, source, { next_check: now })))
  expect(await undoImport(site.data, id, ann, () => now)).toMatchObject({ sources: 2, fetchedSources: 1 })
  expect(await followedBy(ann)).toEqual([fetched!.id])
  expect(await imports()).toEqual([['My list', 0, 1]])
  await endLease(site.data, fetched!, { next_check: now })
  expect(await undoImport(site.data, id, ann, () => now)).toMatchObject({ sources: 1, fetchedSources: 0 })
  expect([await sourceCount(), await followedBy(ann), await imports()]).toEqual([0, [], []])
})

test('undoing a list keeps a source whose fetch begins during the undo, and its follow', async () => {
  await importList(1)
  const { follows } = site.data
  async function* each(where: { readonly channel_id: string }) {
    yield* follows.byChannel.each(where)
    expect(await takeAll()).toHaveLength(1)
  }
  const data = {
    ...site.data,
    follows: { ...follows, byChannel: { ...follows.byChannel, each } },
  } as unknown as typeof site.data
  expect(await undoImport(data, await newest(), ann, () => now)).toMatchObject({
    sources: 0,
    fetchedSources: 1,
  })
  expect([await sourceCount(), await followedBy(ann)]).toEqual([1, [listed(0)]])
})

test('no fetch of a source begins while an undo deletes it', async () => {
  await importList(1)
  const { inbox } = site.data
  const taken: LeasedSource[] = []
  const page: typeof inbox.byPerson.page = async (...args) => {
    taken.push(...(await takeAll()))
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof site.data
  expect(await undoImport(data, await newest(), ann, () => now)).toMatchObject({ sources: 1 })
  expect(taken).toEqual([])
})

test('undoing a list leaves no follow and no inbox item of a deleted source, also after an interruption', async () => {
  await importList(4)
  const [gone, stays] = [listed(1), listed(2)]
  const [removed, kept] = [await fetchItem(gone), await fetchItem(stays)]
  await Promise.all([gone, stays].map((source) => follow(site.data, ann, source)))
  await removeContent(site.data, removed, { by: gone, at: now })
  expect((await inboxOf(ann)).toSorted()).toEqual([removed, kept].toSorted())
  const id = await newest()
  const { inbox } = site.data
  const deleteMany = (): never => {
    throw new Error('The process ends here.')
  }
  const data = { ...site.data, inbox: { ...inbox, deleteMany } } as unknown as typeof site.data
  await expect(undoImport(data, id, ann)).rejects.toThrow('The process ends here.')
  expect(await undoImport(site.data, id, ann)).toMatchObject({ entries: 0, sources: 3 })
  expect(await followedBy(ann)).toEqual([stays])
  expect(await inboxOf(ann)).toEqual([kept])
  expect(await imports()).toEqual([])
})

test('two undos of a list at the same time delete all of its sources, and neither takes them for sources that are fetched', async () => {
  for (let round = 0; round < 5; round++) {
    await importList(20)
    const id = await newest()
    const undone = await Promise.all([1, 2].map(() => undoImport(site.data, id, ann)))
    for (const each of undone) expect(each ?? { fetchedSources: 0 }).toMatchObject({ fetchedSources: 0 })
    expect([await sourceCount(), await followedBy(ann), await imports()]).toEqual([0, [], []])
  }
})

test('a source whose schedule changes while an undo deletes it is deleted', async () => {
  await importList(3)
  const { sources, inbox } = site.data
  let pages = 0
  const page: typeof inbox.byPerson.page = async (...args) => {
    if (pages++ === 0) await sources.update(listed(1), { next_check: now })
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof site.data
  expect(await undoImport(data, await newest(), ann)).toMatchObject({ sources: 3, fetchedSources: 0 })
  expect([await sourceCount(), await followedBy(ann), await imports()]).toEqual([0, [], []])
})

/** Feed of a file with one item of this title. */
function fileOf(title: string): ParsedFeed {
  const parsed = parseFile(Buffer.from(rss([title])), { name: 'f', now })
  if (parsed.type !== 'feed') throw new TypeError('That is a feed.')
  return parsed
}

/** Expects that all entries have a source, and that undoing all imports leaves nothing. */
async function expectComplete(...titles: string[]): Promise<void> {
  const found = await site.data.entries.byTime.all({}, { scatter: true })
  expect(found.map(({ title }) => title).toSorted()).toEqual(titles)
  for (const { source_id } of found) expect(await site.data.sources.exists(source_id ?? '')).toBe(true)
  for (const { id } of (await importsOf(site.data, ann)).items) await undoImport(site.data, id, ann)
  const kinds: unknown[] = []
  for await (const entity of site.store.scan()) kinds.push(entity['_kind'])
  expect(kinds).toEqual([])
}

test('a file that is imported again while the undo of its first import deletes the source keeps the source', async () => {
  await storeFeed(site.data, fileOf('a'), ann, now)
  const { inbox } = site.data
  let pages = 0
  const page: typeof inbox.byPerson.page = async (...args) => {
    if (pages++ === 0) await storeFeed(site.data, fileOf('b'), ann, now)
    return inbox.byPerson.page(...args)
  }
  const data = {
    ...site.data,
    inbox: { ...inbox, byPerson: { ...inbox.byPerson, page } },
  } as unknown as typeof site.data
  expect(await undoImport(data, await newest(), ann)).toMatchObject({ entries: 1, sources: 0 })
  await expectComplete('b')
})

test.each(['first', 'second'])(
  'a file whose source an undo deletes before the entries of its %s import come has its source and service again',
  async (which) => {
    if (which === 'second') await storeFeed(site.data, fileOf('a'), ann, now)
    const { entries } = site.data
    const insertMany: typeof entries.insertMany = async (...args: never[]) => {
      for (const { id } of (await importsOf(site.data, ann)).items) await undoImport(site.data, id, ann)
      return entries.insertMany(...(args as unknown as Parameters<typeof entries.insertMany>))
    }
    const data = { ...site.data, entries: { ...entries, insertMany } } as unknown as typeof site.data
    const { sourceId } = await storeFeed(data, fileOf('b'), ann, now)
    expect(await site.data.services.byPerson.all({ person_id: ann })).toMatchObject([{ source_id: sourceId }])
    await expectComplete('b')
  },
)

test('undoing another person’s or a missing import does nothing', async () => {
  const source = await importFeed('a')
  expect(await undoImport(site.data, await newest(), bob)).toBeUndefined()
  expect(await undoImport(site.data, site.store.newId(), ann)).toBeUndefined()
  expect(await undoImport(site.data, source, ann)).toBeUndefined()
  expect(await titlesIn(source)).toEqual(['a'])
})

test('undoing an import keeps an entry on which another person comments while it looks for comments', async () => {
  const source = await importFeed('a', 'b')
  const entry = (await entriesOfSource(site.data, source)).items.find(({ title }) => title === 'a')
  const { comments, likes } = site.data
  const looked = Promise.withResolvers<void>()
  async function* eachComment(where: { readonly entry_id: string }) {
    yield* comments.byEntry.each(where)
    if (where.entry_id === entry?.id) looked.resolve()
  }
  async function* eachLike(where: { readonly entry_id: string }) {
    if (where.entry_id === entry?.id) {
      await looked.promise
      await postComment(site.data, { entry_id: entry.id, person_id: bob, text: 'Just now' })
    }
    yield* likes.byEntry.each(where)
  }
  const data = {
    ...site.data,
    comments: { ...comments, byEntry: { ...comments.byEntry, each: eachComment } },
    likes: { ...likes, byEntry: { ...likes.byEntry, each: eachLike } },
  } as unknown as typeof site.data
  expect(await undoImport(data, await newest(), ann)).toMatchObject({
    entries: 1,
    keptEntries: 1,
  })
  expect(await titlesIn(source)).toEqual(['a'])
  expect(await site.data.comments.byEntry.all({ entry_id: entry?.id ?? '' })).toMatchObject([
    { text: 'Just now' },
  ])
})
