import { memoryShards, tableKind } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseFile } from '../../feeds/parse/parse-file.ts'
import type { ParsedFeed, ParsedOpml } from '../../feeds/parse/parsed-feed.ts'
import { storeFeed, storeSubscriptions } from '../imports/store-feed.ts'
import { entriesOfSource } from '../entries/entries.ts'
import { openSite, type Site } from '../site/site.ts'
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

/** Imports a list of feeds with these addresses of feeds and sites, and returns the number of new sources. */
async function importList(feeds: readonly (readonly [feed: string, site?: string])[]): Promise<number> {
  const outlines = feeds.map(
    ([xml, html]) => `<outline text="As listed" xmlUrl="${xml}"${html ? ` htmlUrl="${html}"` : ''}/>`,
  )
  const opml = `<opml version="2.0"><body>${outlines.join('')}</body></opml>`
  const parsed = parseFile(Buffer.from(opml), { name: 'l', now }) as ParsedOpml
  return (await storeSubscriptions(site.data, parsed, undefined, now)).added
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
  expect(await importList([[feed]])).toBe(0)
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

test('importing a feed fills the source that a list created for its address', async () => {
  expect(await importList([['http://example.org/feed.xml'], ['http://example.org/other.xml']])).toBe(2)
  const id = await importFeed('https://example.org/', 'https://example.org/feed.xml')
  expect(await sources()).toHaveLength(2)
  expect(await entriesIn(id)).toBe(1)
  expect((await sources()).map(({ title }) => title).toSorted()).toEqual(['As listed', 'Own title'])
  // A second import of the list does not replace the feed's own title.
  expect(await importList([['http://example.org/feed.xml'], ['http://example.org/other.xml']])).toBe(0)
  expect((await sources()).map(({ title }) => title).toSorted()).toEqual(['As listed', 'Own title'])
})

test('a feed without its own address always fills the only source of its site', async () => {
  await importList([['http://example.org/feed.xml', 'http://example.org']])
  const id = await importFeed('https://example.org/')
  expect(await sources()).toEqual([{ title: 'Own title', feed_link: 'http://example.org/feed.xml' }])
  expect(await importList([['http://example.org/comments.xml', 'http://example.org/']])).toBe(1)
  expect(await importFeed('https://example.org/')).toBe(id)
  expect(await sources()).toHaveLength(2)
})

test('a feed without its own address gets a new source if its site has several', async () => {
  await importList([
    ['http://example.org/a.xml', 'http://example.org/'],
    ['http://example.org/b.xml', 'http://example.org/'],
  ])
  const id = await importFeed('http://example.org/')
  expect(await sources()).toHaveLength(3)
  expect(await importFeed('http://example.org/')).toBe(id)
})

test('a source known by its site alone keeps the first feed address that it gets', async () => {
  const id = await importFeed('http://example.org/')
  expect(
    await importList([
      ['https://example.org/a.xml', 'https://example.org/'],
      ['https://example.org/b.xml', 'https://example.org/'],
    ]),
  ).toBe(1)
  expect(await importFeed('https://example.org/')).toBe(id)
  const both = [
    await importFeed('https://example.org/', 'https://example.org/a.xml'),
    await importFeed('https://example.org/', 'https://example.org/b.xml'),
  ]
  expect(both).toContain(id)
  expect(new Set(both).size).toBe(2)
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

test('a long list is imported up to the limit, in batches', async () => {
  const feeds = Array.from(
    { length: 2100 },
    (_, i) => `<outline text="F" xmlUrl="https://example.org/${i}"/>`,
  )
  const opml = `<opml version="2.0"><body>${feeds.join('')}</body></opml>`
  const parsed = parseFile(Buffer.from(opml), { name: 'l', now }) as ParsedOpml
  expect(parsed.notes).toEqual(['Only the first 2000 feeds are kept; 100 more were left out.'])
  await site.store.trace(async (trace) => {
    expect(await storeSubscriptions(site.data, parsed, undefined, now)).toEqual({ added: 2000, known: 0 })
    // In batches. One by one, each source would take two statements.
    const toEntities = trace.statements.filter(({ table }) => tableKind(table) === 'entities')
    expect(toEntities.length).toBeLessThan(400)
  })
  expect(await storeSubscriptions(site.data, parsed, undefined, now)).toEqual({ added: 0, known: 2000 })
})
