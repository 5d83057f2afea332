import { beforeEach, expect, test } from 'vitest'
import { HOUR, LEASE, openCrawlBench, type CrawlBench } from '../../test/crawl-bench.ts'
import { answer, rss } from '../../test/feed-server.ts'
import { postComment } from '../domain/entries/responses.ts'
import { askForFetch } from '../domain/sources/ask-for-fetch.ts'
import { crawlSource } from './crawl-source.ts'

let bench: CrawlBench
beforeEach(async () => {
  bench = await openCrawlBench()
})

test('a fetch stores the feed, and plans the next one by its items', async () => {
  const dates = [1, 2, 3].map((hours) => new Date(bench.time.getTime() - hours * 7 * HOUR))
  bench.server.on(
    '/feed',
    answer(
      rss(
        dates.map((date, i) => ({ guid: `${i}`, date })),
        { title: 'Bread' },
      ),
    ),
  )
  const source = await bench.crawl(await bench.add('/feed'))
  expect(source).toMatchObject({
    title: 'Bread',
    link: 'https://site.example/',
    checked: bench.time,
    fetched: bench.time,
  })
  expect(source).toMatchObject({ failures: 0, per_week: 21, interval_ms: 8 * HOUR })
  expect(source.problem).toBeUndefined()
  expect(source.leased_until).toBeUndefined()
  const wait = (source.next_check?.getTime() ?? 0) - bench.time.getTime()
  expect(wait).toBeGreaterThan(7 * HOUR)
  expect(wait).toBeLessThan(9 * HOUR)
  expect(await bench.titles(source.id)).toHaveLength(3)
})

test('a feed that has not changed is not stored again, by status 304 or by its digest', async () => {
  bench.server.on('/feed', (request, response) => {
    const isSame = request.headers['if-none-match'] === '"1"'
    response.writeHead(isSame ? 304 : 200, { etag: '"1"' }).end(isSame ? '' : rss(['a']))
  })
  const id = await bench.add('/feed')
  const first = await bench.crawl(id)
  const versions = async (): Promise<number[]> =>
    (await bench.site.data.entries.byPublisher.all({ publisher_id: id })).map(({ version }) => version)
  const before = await versions()
  const second = await bench.crawl(id)
  expect(bench.server.requests).toHaveLength(2)
  expect(second.interval_ms).toBeCloseTo((first.interval_ms ?? 0) * 1.1)
  bench.server.on('/feed', answer(rss(['a']), { etag: '"2"' }))
  const third = await bench.crawl(id)
  expect(third).toMatchObject({ etag: '"2"', body_hash: first.body_hash })
  expect(await versions()).toEqual(before)
})

test('a failing source keeps its entries, says why and since when, and is tried less and less', async () => {
  bench.server.on('/feed', answer(rss(['a'])))
  const id = await bench.add('/feed')
  await bench.crawl(id)
  const since = bench.time
  bench.server.on('/feed', answer('', {}, 500))
  const waits: number[] = []
  for (let i = 0; i < 3; i++) {
    const { next_check } = await bench.crawl(id)
    waits.push((next_check?.getTime() ?? 0) - bench.time.getTime())
    bench.pass(HOUR)
  }
  const problem = { text: 'Its server has an error (status 500).', since, status: 500 }
  expect(await bench.sourceOf(id)).toMatchObject({ failures: 3, problem })
  expect(waits[1]).toBeGreaterThan((waits[0] ?? 0) * 1.5)
  expect(waits[2]).toBeGreaterThan((waits[1] ?? 0) * 1.5)
  expect(await bench.titles(id)).toEqual(['a'])
  bench.server.on('/feed', answer(rss(['a', 'b'])))
  expect((await bench.crawl(id)).problem).toBeUndefined()
})

test.each([
  ['a web page', answer('<!doctype html><html><p>Hello'), 'It answers with a web page, and not with a feed.'],
  [
    'a page to sign in',
    answer('<html><form><input type="password">'),
    'It answers with a page to sign in, and not with a feed.',
  ],
  [
    'a check for browsers',
    answer('<html><title>Just a moment...</title>'),
    'Its server asks for a check that only a browser can pass.',
  ],
  [
    'a list',
    answer('<opml version="2.0"><body><outline xmlUrl="http://a.example/"/></body></opml>'),
    'It is a list of feeds, and not a feed.',
  ],
  ['text', answer('Hello'), 'The file contains no feed: it is neither RSS, Atom, RDF nor JSON Feed.'],
])('%s in place of a feed is a problem, and the title stays', async (_, handler, text) => {
  bench.server.on('/feed', answer(rss(['a'], { title: 'Bread' })))
  const id = await bench.add('/feed')
  await bench.crawl(id)
  bench.server.on('/feed', handler)
  expect(await bench.crawl(id)).toMatchObject({ title: 'Bread', problem: { text } })
})

test('a feed without items is no problem', async () => {
  bench.server.on('/feed', answer(rss([])))
  const source = await bench.crawl(await bench.add('/feed'))
  expect(source).toMatchObject({ fetched: bench.time, failures: 0 })
})

test('a feed that is gone for good is fetched no more, with the reason, until somebody asks', async () => {
  bench.server.on('/feed', answer('', {}, 410))
  const id = await bench.add('/feed')
  const source = await bench.crawl(id)
  expect(source.next_check).toBeUndefined()
  expect(source.problem).toMatchObject({ status: 410, since: bench.time })
  bench.pass(30 * 24 * HOUR)
  expect(await bench.take()).toEqual([])
  expect(await askForFetch(bench.site.data, id, bench.time)).toBeUndefined()
  expect(await bench.take()).toEqual([id])
})

test('a request for a fetch is refused while the server has asked to wait, and after a fetch just made', async () => {
  bench.server.on('/feed', answer('', { 'retry-after': '7200' }, 429))
  const id = await bench.add('/feed')
  await bench.crawl(id)
  expect(await askForFetch(bench.site.data, id, bench.time)).toBe('Its server has asked the site to wait.')
  bench.pass(3 * HOUR)
  expect(await askForFetch(bench.site.data, id, bench.time)).toBeUndefined()
  bench.server.on('/feed', answer(rss(['a'])))
  await bench.crawl(id)
  bench.pass(30_000)
  expect(await askForFetch(bench.site.data, id, bench.time)).toMatch(/less than a minute ago/)
  bench.pass(60_000)
  await bench.site.data.sources.update(id, { leased_until: new Date(bench.time.getTime() + 1) })
  expect(await askForFetch(bench.site.data, id, bench.time)).toBe(
    'The site is fetching this source just now.',
  )
  expect(await askForFetch(bench.site.data, bench.site.store.newId(), bench.time)).toBe(
    'There is no such source any more.',
  )
})

test('a process that has lost its lease writes no outcome', async () => {
  bench.server.on('/feed', answer(rss(['a'])))
  const id = await bench.add('/feed')
  const leased_until = new Date(bench.time.getTime() - 1)
  const source = await bench.sourceOf(id)
  await bench.take()
  const before = await bench.sourceOf(id)
  await crawlSource(bench.ctx, { ...source, leased_until }, new AbortController().signal)
  expect(await bench.sourceOf(id)).toEqual(before)
  expect(await bench.titles(id)).toEqual(['a'])
})

/** Answers with a feed of new items, `length` in all, of which item 0 is the newest. */
const busy = (prefix: string, length: number) =>
  answer(
    rss(
      Array.from({ length }, (_, i) => ({
        guid: `${prefix}${i}`,
        date: new Date(bench.time.getTime() - i * 1000),
      })),
    ),
  )

test('a source gets its newest thousand items first, and then at most a thousand new entries a day', async () => {
  const id = await bench.add('/feed')
  const count = async (): Promise<number> => (await bench.titles(id)).length
  bench.server.on('/feed', busy('first', 1100))
  await bench.crawl(id)
  expect(await count()).toBe(1000)
  const first = await bench.titles(id)
  expect([first.includes('first999'), first.includes('first1000')]).toEqual([true, false])
  bench.server.on('/feed', busy('first', 1101))
  await bench.crawl(id)
  expect(await count()).toBe(1000)
  bench.server.on('/feed', busy('second', 700))
  await bench.crawl(id)
  expect(await count()).toBe(1700)
  bench.pass(2 * HOUR)
  bench.server.on('/feed', busy('third', 700))
  await bench.crawl(id)
  expect(await count()).toBe(2000)
  expect(await bench.titles(id)).toContain('third299')
  await bench.crawl(id)
  expect(await count()).toBe(2000)
  bench.pass(22 * HOUR)
  await bench.crawl(id)
  expect(await count()).toBe(2400)
})

test('a source that is deleted during its fetch leaves no entries, also if one is commented on meanwhile', async () => {
  const id = await bench.add('/feed')
  const { site, server } = bench
  server.on('/feed', async (_request, response) => {
    await site.data.sources.delete(id)
    response.end(rss(['a', 'b']))
  })
  const { comments } = site.data
  let pages = 0
  const page: typeof comments.byEntry.page = async (where, options) => {
    const found = await comments.byEntry.page(where, options)
    const { entry_id } = where as { entry_id: string }
    if (pages++ === 0)
      await postComment(site.data, { entry_id, person_id: site.store.newId(), text: 'Hello' })
    return found
  }
  const data = {
    ...site.data,
    comments: { ...comments, byEntry: { ...comments.byEntry, page } },
  } as unknown as typeof site.data
  const leased_until = new Date(bench.time.getTime() + LEASE)
  const source = { ...(await bench.sourceOf(id)), leased_until }
  await crawlSource({ ...bench.ctx, data }, source, new AbortController().signal)
  expect(server.requests).toHaveLength(1)
  expect(await bench.titles(id)).toEqual([])
})
