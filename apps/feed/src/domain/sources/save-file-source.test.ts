import { memoryShards } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import type { ParsedFeed } from '../../feeds/parse/parsed-feed.ts'
import { storeFeed } from '../imports/store-feed.ts'
import { entriesOfSource } from '../entries/entries.ts'
import { openSite, type Site } from '../site/site.ts'
import { saveFileSource } from './save-file-source.ts'
import { listSources } from './sources.ts'

let site: Site
beforeEach(async () => {
  site = await openSite({ shards: memoryShards(3), cleaner: false })
})
afterEach(() => site.close())

const now = new Date('2026-06-01T12:00:00Z')

/** Imports a feed with these addresses and one item, and returns the id of its source. */
async function importFeed(
  site_: string,
  feed?: string,
  personId?: string,
  title = 'Own title',
): Promise<string> {
  const self = feed === undefined ? '' : `<atom:link rel="self" href="${feed}"/>`
  const link = site_ === '' ? '' : `<link>${site_}</link>`
  const xml = `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>${title}</title>${link}${self}<item><guid>${site_}/1</guid><title>One</title></item></channel></rss>`
  const parsed = parseFile(Buffer.from(xml), { name: 'f', now }) as ParsedFeed
  return (await storeFeed(site.data, parsed, personId, now)).sourceId
}

const sources = async (): Promise<{ title: string; feed_link: string | undefined }[]> =>
  (await listSources(site.data)).items.map(({ title, feed_link }) => ({ title, feed_link }))
const entriesIn = async (id: string): Promise<number> => (await entriesOfSource(site.data, id)).items.length

test.each([
  'https://example.org/feed.xml',
  'http://EXAMPLE.org:80/feed.xml',
  'https://example.org:443/feed.xml/',
  'https://example.org./feed.xml#top',
])('the feed at %s has the same source as http://example.org/feed.xml', async (feed) => {
  const id = await importFeed('http://example.org/', 'http://example.org/feed.xml')
  expect(await importFeed('https://example.org/', feed)).toBe(id)
  expect(await sources()).toHaveLength(1)
  expect(await entriesIn(id)).toBe(1)
})

test.each([
  'https://example.org/feed.xml?tag=a',
  'https://example.org/Feed.xml',
  'https://www.example.org/feed.xml',
  'https://example.org:8080/feed.xml',
])('the feed at %s has another source than http://example.org/feed.xml', async (feed) => {
  const id = await importFeed('http://example.org/', 'http://example.org/feed.xml')
  expect(await importFeed('https://example.org/', feed)).not.toBe(id)
})

test('a feed without its own address always fills the only source of its site', async () => {
  const id = await importFeed('http://example.org/', 'http://example.org/feed.xml')
  expect(await importFeed('https://example.org/', undefined, undefined, 'New title')).toBe(id)
  expect(await sources()).toEqual([{ title: 'New title', feed_link: 'http://example.org/feed.xml' }])
})

test('a feed without its own address gets a new source if its site has several', async () => {
  await importFeed('http://example.org/', 'http://example.org/a.xml')
  await importFeed('http://example.org/', 'http://example.org/b.xml')
  const id = await importFeed('http://example.org/')
  expect(await sources()).toHaveLength(3)
  expect(await importFeed('http://example.org/')).toBe(id)
})

test('a source known by its site alone keeps the first feed address that it gets', async () => {
  const id = await importFeed('http://example.org/')
  const first = await importFeed('https://example.org/', 'https://example.org/a.xml')
  const second = await importFeed('https://example.org/', 'https://example.org/b.xml')
  expect([first, await importFeed('https://example.org/')]).toEqual([id, id])
  expect(second).not.toBe(id)
  expect(await sources()).toHaveLength(2)
})

test('a feed without any address is identified by its title, separately for each owner', async () => {
  const id = await importFeed('')
  expect(await importFeed('')).toBe(id)
  expect(await importFeed('', undefined, undefined, 'Another title')).not.toBe(id)
  const personId = site.store.newId()
  expect(await importFeed('', undefined, personId)).not.toBe(id)
  expect(await importFeed('https://example.org/', 'https://example.org/f', personId)).not.toBe(
    await importFeed('https://example.org/', 'https://example.org/f'),
  )
})

test('two files that fill one source at the same time both leave their names', async () => {
  const id = await importFeed('http://example.org/')
  const files = ['a', 'b'].map((name) => importFeed('http://example.org/', `http://example.org/${name}.xml`))
  expect(await Promise.all(files)).toEqual([id, id])
  expect((await site.data.sources.get(id))?.known_as.toSorted()).toEqual([
    'nobody feed example.org/a.xml',
    'nobody feed example.org/b.xml',
    'nobody files of example.org',
    'nobody site example.org',
  ])
})

test('two first files of a feed at the same time create its source once', async () => {
  const file = { title: 'F', about: '', feed_link: 'https://example.org/feed.xml' }
  const save = () =>
    saveFileSource(site.data, file, { import_id: site.store.newId(), beforeNew: async () => undefined })
  const saved = await Promise.all([save(), save()])
  expect(saved.map(({ created }) => created).toSorted()).toEqual([false, true])
  expect(saved[0]!.id).toBe(saved[1]!.id)
})
