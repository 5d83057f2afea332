import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { answer, openFeedServer, redirect, rss, type FeedServer } from '../../../test/feed-server.ts'
import type { Discovery } from '../../domain/sources/feed-finder.ts'
import { createFileParser } from '../../feeds/parse/thread/file-parser.ts'
import { createGuard } from '../guard/guard.ts'
import { discoverFeeds, feedsOfPage } from './discover.ts'
import { createFetcher, type Fetcher } from './fetch-feed.ts'

const parser = createFileParser()
let server: FeedServer
let fetcher: Fetcher
beforeAll(async () => {
  server = await openFeedServer()
  fetcher = createFetcher({ guard: createGuard({ allow: [server.place] }) })
})
afterAll(async () => {
  await fetcher.close()
  await parser.close()
  await server.close()
})

const discover = (text: string): Promise<Discovery> => discoverFeeds({ fetcher, parser }, text)
const page = (head: string): string => `<!doctype html><html><head>${head}</head><body>Hello</body></html>`

test('the address of a feed is found itself, at its new address after a permanent redirect', async () => {
  server.on('/feed', answer(rss(['a'], { title: 'Bread' })))
  server.on('/old', redirect(301, '/feed'))
  server.on('/now', redirect(302, '/feed'))
  const found = (path: string): Discovery => ({
    type: 'found',
    feeds: [{ address: `${server.origin}${path}`, title: 'Bread' }],
  })
  expect(await discover(` ${server.origin}/feed `)).toEqual(found('/feed'))
  expect(await discover(`${server.origin}/old`)).toEqual(found('/feed'))
  expect(await discover(`${server.origin}/now`)).toEqual(found('/now'))
})

test('the feeds that a page names are found, each once and in its order', () => {
  const html = page(`<base href="https://other.example/b/">
    <link rel="stylesheet" type="text/css" href="style.css">
    <LINK REL="Alternate" TYPE="application/atom+xml; charset=utf-8" HREF="a" TITLE=" All  of &lt;it&gt; ">
    <link rel="alternate home" type="application/rss+xml" href="/rss">
    <link rel="alternate" type="application/feed+json" href="https://feeds.example/f.json">
    <link rel="alternate" type="application/atom+xml" href="a">
    <link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">
    <link rel="alternate" type="text/html" hreflang="de" href="/de">`)
  expect(feedsOfPage(html, 'https://site.example/')).toEqual([
    { address: 'https://other.example/b/a', title: 'All of <it>' },
    { address: 'https://other.example/rss', title: 'https://other.example/rss' },
    { address: 'https://feeds.example/f.json', title: 'https://feeds.example/f.json' },
  ])
})

test('the only feed that a page names is fetched, and is a reason if it cannot be', async () => {
  const link = (href: string): string =>
    page(`<link rel="alternate" type="application/rss+xml" href="${href}">`)
  server.on('/one', answer(link('/feed')))
  server.on('/dead', answer(link('/gone')))
  server.on('/inside', answer(link('http://10.0.0.1/feed')))
  expect(await discover(`${server.origin}/one`)).toMatchObject({
    feeds: [{ address: `${server.origin}/feed`, title: 'Bread' }],
  })
  expect(await discover(`${server.origin}/dead`)).toEqual({
    type: 'refused',
    reason: 'The page names a feed. There is nothing at this address (status 404).',
  })
  expect(await discover(`${server.origin}/inside`)).toEqual({
    type: 'refused',
    reason: 'The page names a feed. The address is not on the public internet.',
  })
})

test('a page that names no feed is tried at common places', async () => {
  server.on('/plain', answer(page('<title>Plain</title>')))
  expect(await discover(`${server.origin}/plain`)).toEqual({
    type: 'found',
    feeds: [{ address: `${server.origin}/feed`, title: 'A feed' }].map((feed) => ({
      ...feed,
      title: 'Bread',
    })),
  })
})

test.each([
  ['', 'This is not the address of a page or a feed on the web.'],
  ['mailto:ann@example.org', 'This is not the address of a page or a feed on the web.'],
  ['127.0.0.1', 'The address is not on the public internet.'],
  ['http://localhost.example:8080/', 'Port 8080 cannot be fetched, only ports 80 and 443.'],
])('the address “%s” is refused with a reason', async (text, reason) => {
  expect(await discover(text)).toEqual({ type: 'refused', reason })
})

test('lists of feeds, other files and missing pages are refused with reasons', async () => {
  server.on('/list', answer('<opml version="2.0"><body><outline xmlUrl="https://a.example/"/></body></opml>'))
  server.on('/text', answer('Hello'))
  const reasonAt = async (path: string): Promise<string> => {
    const found = await discover(`${server.origin}${path}`)
    return found.type === 'refused' ? found.reason : found.type
  }
  expect(await reasonAt('/list')).toBe('This is a list of feeds. Import it as a file.')
  expect(await reasonAt('/text')).toMatch(/^The file contains no feed/)
  expect(await reasonAt('/nothing')).toBe('There is nothing at this address (status 404).')
})

test('a feed without items is a feed', async () => {
  server.on('/empty', answer(rss([])))
  expect(await discover(`${server.origin}/empty`)).toEqual({
    type: 'found',
    feeds: [{ address: `${server.origin}/empty`, title: '127.0.0.1' }],
  })
})

test.each(['/slow', '/a-page'])(
  'a search that is broken off at %s says so, and not that there is no feed',
  async (path) => {
    const end = new AbortController()
    const slow = await openFeedServer()
    onTestFinished(() => slow.close())
    slow.on('/a-page', answer(page('')))
    for (const each of ['/slow', '/feed']) slow.on(each, () => end.abort())
    const visiting = createFetcher({ guard: createGuard({ allow: [slow.place] }) })
    onTestFinished(() => visiting.close())
    const parts = { fetcher: visiting, parser }
    const found = await discoverFeeds(parts, `${slow.origin}${path}`, { signal: end.signal })
    expect(found).toEqual({ type: 'refused', reason: 'The search for a feed there took too long.' })
  },
)

test('a search that is broken off does not wait for a busy parser', async () => {
  const end = new AbortController()
  const parse = (): Promise<never> => {
    end.abort()
    return new Promise(() => {})
  }
  server.on('/waiting', answer(rss(['a'])))
  const parts = { fetcher, parser: { ...parser, parse } }
  const found = await discoverFeeds(parts, `${server.origin}/waiting`, { signal: end.signal })
  expect(found).toMatchObject({ type: 'refused', reason: expect.stringContaining('took too long') })
})
