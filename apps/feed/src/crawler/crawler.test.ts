import { LooseleafError, memoryShards } from 'looseleaf'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { answer, openFeedServer, redirect, rss, type FeedServer } from '../../test/feed-server.ts'
import { addSources } from '../domain/sources/add-sources.ts'
import { askForFetch } from '../domain/sources/ask-for-fetch.ts'
import { moveSource } from '../domain/sources/merge-sources.ts'
import { feedName } from '../domain/sources/source-names.ts'
import { openSite, type Site } from '../domain/site/site.ts'
import { followId } from '../kinds/follow.ts'
import { serviceId } from '../kinds/service.ts'
import type { Source } from '../kinds/source.ts'
import { createShardFaults } from '../stage/shard-faults.ts'
import { SKIP } from '../domain/site/partial-reads.ts'
import { crawlSource } from './crawl-source.ts'
import { startCrawler, type Crawler } from './crawler.ts'
import { takeDue } from './due.ts'
import { createFetcher, type Fetcher } from './fetch/fetch-feed.ts'
import { createGuard } from './guard/guard.ts'
import { POLITE } from './schedule.ts'

const { shards, refusals } = createShardFaults(memoryShards(2))
let site: Site
let server: FeedServer
let fetcher: Fetcher
/** Time of the site. */
let time: Date
beforeAll(async () => {
  site = await openSite({ shards, cleaner: false })
})
afterAll(() => site.close())
beforeEach(async () => {
  server = await openFeedServer()
  fetcher = createFetcher({ guard: createGuard({ allow: [server.place] }) })
  time = new Date('2026-06-01T12:00:00Z')
})
afterEach(async () => {
  bringBack()
  await fetcher.close()
  await server.close()
  // The next test has a server with another port, so its sources are others.
  const sources = await site.data.sources.byTime.all({}, { scatter: true })
  await site.data.sources.deleteMany(sources.map(({ id }) => id))
})

const HOUR = 3_600_000
const LEASE = 60_000

function stop(name: string): void {
  const down = new LooseleafError('SHARD_UNAVAILABLE', `${name} is down.`, { shard: name })
  refusals.add(({ shard }) => (shard === name ? down : undefined))
}

function bringBack(): void {
  refusals.clear()
}

function pass(ms: number): void {
  time = new Date(time.getTime() + ms)
}

async function add(path: string): Promise<string> {
  const feeds = [{ address: `${server.origin}${path}` }]
  const [saved] = await addSources(site.data, feeds, { personId: undefined, now: time })
  return saved?.id ?? ''
}

async function sourceOf(id: string): Promise<Source> {
  const source = await site.data.sources.get(id)
  if (source === undefined) throw new Error('The source is not there.')
  return source
}

/** Fetches a source once, although it may not be due. Returns the source afterwards. */
async function crawl(id: string): Promise<Source> {
  const leased_until = new Date(time.getTime() + LEASE)
  const source = await site.data.sources.update(id, { next_check: leased_until, leased_until })
  const ctx = { data: site.data, fetcher, parser: site.parser, now: () => time, bounds: POLITE }
  await crawlSource(ctx, { ...source, leased_until }, new AbortController().signal)
  return sourceOf(id)
}

async function take(limit = 10): Promise<string[]> {
  const nothing = (): undefined => undefined
  const options = {
    limit,
    leaseMs: LEASE,
    now: time,
    reserve: () => true,
    release: nothing,
    onError: nothing,
  }
  return (await takeDue(site.data, options)).map(({ id }) => id)
}

const titles = async (source_id: string): Promise<string[]> =>
  (await site.data.entries.byPublisher.all({ publisher_id: source_id })).map(({ title }) => title)

test('a fetch stores the feed, and plans the next one by its items', async () => {
  const dates = [1, 2, 3].map((hours) => new Date(time.getTime() - hours * 7 * HOUR))
  server.on(
    '/feed',
    answer(
      rss(
        dates.map((date, i) => ({ guid: `${i}`, date })),
        { title: 'Bread' },
      ),
    ),
  )
  const source = await crawl(await add('/feed'))
  expect(source).toMatchObject({
    title: 'Bread',
    link: 'https://site.example/',
    checked: time,
    fetched: time,
  })
  expect(source).toMatchObject({ failures: 0, per_week: 21, interval_ms: 8 * HOUR })
  expect(source.problem).toBeUndefined()
  expect(source.leased_until).toBeUndefined()
  const wait = (source.next_check?.getTime() ?? 0) - time.getTime()
  expect(wait).toBeGreaterThan(7 * HOUR)
  expect(wait).toBeLessThan(9 * HOUR)
  expect(await titles(source.id)).toHaveLength(3)
})

test('a feed that has not changed is not stored again, by status 304 or by its digest', async () => {
  server.on('/feed', (request, response) => {
    const isSame = request.headers['if-none-match'] === '"1"'
    response.writeHead(isSame ? 304 : 200, { etag: '"1"' }).end(isSame ? '' : rss(['a']))
  })
  const id = await add('/feed')
  const first = await crawl(id)
  const versions = async (): Promise<number[]> =>
    (await site.data.entries.byPublisher.all({ publisher_id: id })).map(({ version }) => version)
  const before = await versions()
  const second = await crawl(id)
  expect(server.requests).toHaveLength(2)
  expect(second.interval_ms).toBeCloseTo((first.interval_ms ?? 0) * 1.1)
  server.on('/feed', answer(rss(['a']), { etag: '"2"' }))
  const third = await crawl(id)
  expect(third).toMatchObject({ etag: '"2"', body_hash: first.body_hash })
  expect(await versions()).toEqual(before)
})

test('a failing source keeps its entries, says why and since when, and is tried less and less', async () => {
  server.on('/feed', answer(rss(['a'])))
  const id = await add('/feed')
  await crawl(id)
  const since = time
  server.on('/feed', answer('', {}, 500))
  const waits: number[] = []
  for (let i = 0; i < 3; i++) {
    const { next_check } = await crawl(id)
    waits.push((next_check?.getTime() ?? 0) - time.getTime())
    pass(HOUR)
  }
  const problem = { text: 'Its server has an error (status 500).', since, status: 500 }
  expect(await sourceOf(id)).toMatchObject({ failures: 3, problem })
  expect(waits[1]).toBeGreaterThan((waits[0] ?? 0) * 1.5)
  expect(waits[2]).toBeGreaterThan((waits[1] ?? 0) * 1.5)
  expect(await titles(id)).toEqual(['a'])
  server.on('/feed', answer(rss(['a', 'b'])))
  expect((await crawl(id)).problem).toBeUndefined()
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
  server.on('/feed', answer(rss(['a'], { title: 'Bread' })))
  const id = await add('/feed')
  await crawl(id)
  server.on('/feed', handler)
  expect(await crawl(id)).toMatchObject({ title: 'Bread', problem: { text } })
})

test('a feed without items is no problem', async () => {
  server.on('/feed', answer(rss([])))
  const source = await crawl(await add('/feed'))
  expect(source).toMatchObject({ fetched: time, failures: 0 })
})

test('a feed that is gone for good is fetched no more, with the reason, until somebody asks', async () => {
  server.on('/feed', answer('', {}, 410))
  const id = await add('/feed')
  const source = await crawl(id)
  expect(source.next_check).toBeUndefined()
  expect(source.problem).toMatchObject({ status: 410, since: time })
  pass(30 * 24 * HOUR)
  expect(await take()).toEqual([])
  expect(await askForFetch(site.data, id, time)).toBeUndefined()
  expect(await take()).toEqual([id])
})

test('a request for a fetch is refused while the server has asked to wait, and after a fetch just made', async () => {
  server.on('/feed', answer('', { 'retry-after': '7200' }, 429))
  const id = await add('/feed')
  await crawl(id)
  expect(await askForFetch(site.data, id, time)).toBe('Its server has asked the site to wait.')
  pass(3 * HOUR)
  expect(await askForFetch(site.data, id, time)).toBeUndefined()
  server.on('/feed', answer(rss(['a'])))
  await crawl(id)
  pass(30_000)
  expect(await askForFetch(site.data, id, time)).toMatch(/less than a minute ago/)
  pass(60_000)
  await site.data.sources.update(id, { leased_until: new Date(time.getTime() + 1) })
  expect(await askForFetch(site.data, id, time)).toBe('The site is fetching this source just now.')
  expect(await askForFetch(site.data, site.store.newId(), time)).toBe('There is no such source any more.')
})

test('a source takes its new address after three permanent redirects in a row', async () => {
  server.on('/old', redirect(301, '/new'))
  server.on('/new', answer(rss(['a'])))
  const id = await add('/old')
  const addresses: unknown[] = []
  for (let i = 0; i < 2; i++) addresses.push((await crawl(id)).feed_link)
  server.on('/old', answer('', {}, 500))
  await crawl(id)
  server.on('/old', redirect(308, '/new'))
  for (let i = 0; i < 3; i++) addresses.push((await crawl(id)).feed_link)
  const [old, current] = ['/old', '/new'].map((path) => `${server.origin}${path}`)
  expect(addresses).toEqual([old, old, old, old, current])
  expect([await add('/new'), await add('/old')]).toEqual([id, id])
})

test('a source that has moved to the address of another becomes its alias, with its followers', async () => {
  server.on('/old', redirect(301, '/new'))
  server.on('/new', answer(rss(['a'])))
  const [old, current] = [await add('/old'), await add('/new')]
  const [ann, bob] = [site.store.newId(), site.store.newId()]
  const { follows, services } = site.data
  for (const [person_id, channel_id] of [
    [ann, old],
    [bob, old],
    [bob, current],
  ] as const)
    await follows.insert({ person_id, channel_id, since: time }, { id: followId(person_id, channel_id) })
  await services.insert({ person_id: ann, source_id: old, added: time }, { id: serviceId(ann, old) })
  await crawl(current)
  for (let i = 0; i < 3; i++) await crawl(old)
  expect(await sourceOf(old)).toMatchObject({ same_as: current, known_as: [] })
  expect((await sourceOf(old)).next_check).toBeUndefined()
  expect(await askForFetch(site.data, old, time)).toBe('The site fetches this feed for another source.')
  expect(await add('/old')).toBe(current)
  const followers = await follows.byChannel.all({ channel_id: current })
  expect(followers.map(({ id }) => id).toSorted()).toEqual(
    [followId(ann, current), followId(bob, current)].toSorted(),
  )
  expect(await follows.byChannel.all({ channel_id: old })).toEqual([])
  expect(await services.bySource.all({ source_id: current })).toMatchObject([{ person_id: ann }])
})

/** Crawls a source that redirects to `/new`, until it has done so three times. Another source is merged into it during the last fetch. */
async function crawlWhileMerging(id: string, other: string): Promise<Source> {
  server.on('/old', redirect(301, '/new'))
  server.on('/new', answer(rss(['a'])))
  for (let i = 0; i < 2; i++) await crawl(id)
  server.on('/new', async (_request, response) => {
    await moveSource(site.data, await sourceOf(other), await sourceOf(id))
    response.end(rss(['b']))
  })
  const source = await crawl(id)
  server.on('/new', answer(rss(['b'])))
  return source
}

test('a source that moves keeps the names that another one gives it during the fetch', async () => {
  const [id, other] = [await add('/old'), await add('/other')]
  const { feed_link, known_as } = await crawlWhileMerging(id, other)
  const names = ['/old', '/other', '/new'].map((path) => feedName(`${server.origin}${path}`))
  expect(feed_link).toBe(`${server.origin}/new`)
  expect(known_as.toSorted()).toEqual(names.toSorted())
})

test('a source that gets names while it becomes an alias is fetched again, and then passes them on', async () => {
  const [id, other, current] = [await add('/old'), await add('/other'), await add('/new')]
  const between = await crawlWhileMerging(id, other)
  expect(between).toMatchObject({ known_as: [feedName(`${server.origin}/other`)], next_check: time })
  expect(between.same_as).toBeUndefined()
  expect(await crawl(id)).toMatchObject({ same_as: current, known_as: [] })
  const { known_as } = await sourceOf(current)
  expect(known_as).toContain(feedName(`${server.origin}/other`))
  expect(known_as).toContain(feedName(`${server.origin}/old`))
})

test('a source that moves again and again keeps its own address and the newest of its names', async () => {
  const id = await add('/old')
  const own = feedName(`${server.origin}/old`)
  const earlier = Array.from({ length: 30 }, (_, i) => `feed earlier ${i}`)
  await site.data.sources.update(id, { known_as: [own, ...earlier] })
  server.on('/old', redirect(301, '/new'))
  server.on('/new', answer(rss(['a'])))
  for (let i = 0; i < 3; i++) await crawl(id)
  const moved = feedName(`${server.origin}/new`)
  expect((await sourceOf(id)).known_as).toEqual([...earlier.slice(11), moved])
  const another = await add('/another')
  await moveSource(site.data, await sourceOf(another), await sourceOf(id))
  const { known_as } = await sourceOf(id)
  expect(known_as).toHaveLength(20)
  expect(known_as.slice(-2).toSorted()).toEqual([feedName(`${server.origin}/another`), moved].toSorted())
})

test('a feed that names the address of another source is its alias only if that has the same items', async () => {
  const self = `${server.origin}/feed`
  server.on('/feed', answer(rss(['a', 'b'], { self })))
  server.on('/mirror', answer(rss(['a', 'b'], { self, title: 'Mirror' })))
  server.on('/liar', answer(rss(['x', 'y'], { self })))
  const [feed, mirror, liar] = [await add('/feed'), await add('/mirror'), await add('/liar')]
  await crawl(feed)
  expect((await crawl(mirror)).same_as).toBe(feed)
  expect((await crawl(liar)).same_as).toBeUndefined()
  expect((await titles(liar)).toSorted()).toEqual(['x', 'y'])
  expect((await titles(feed)).toSorted()).toEqual(['a', 'b'])
})

test('a source that is due is taken by one process, and again when the lease has ended', async () => {
  const ids = [await add('/a'), await add('/b'), await add('/c')]
  const taken = await Promise.all([take(), take(), take()])
  expect(taken.flat().toSorted()).toEqual(ids.toSorted())
  expect(await take()).toEqual([])
  pass(LEASE)
  expect((await take()).toSorted()).toEqual(ids.toSorted())
})

test('a process that has lost its lease writes no outcome', async () => {
  server.on('/feed', answer(rss(['a'])))
  const id = await add('/feed')
  const ctx = { data: site.data, fetcher, parser: site.parser, now: () => time, bounds: POLITE }
  const leased_until = new Date(time.getTime() - 1)
  const source = await sourceOf(id)
  await take()
  const before = await sourceOf(id)
  await crawlSource(ctx, { ...source, leased_until }, new AbortController().signal)
  expect(await sourceOf(id)).toEqual(before)
  expect(await titles(id)).toEqual(['a'])
})

/** Answers with a feed of new items, `length` in all, of which item 0 is the newest. */
const busy = (prefix: string, length: number) =>
  answer(
    rss(
      Array.from({ length }, (_, i) => ({
        guid: `${prefix}${i}`,
        date: new Date(time.getTime() - i * 1000),
      })),
    ),
  )

test('a source gets its newest thousand items first, and then at most a thousand new entries a day', async () => {
  const id = await add('/feed')
  const count = async (): Promise<number> => (await titles(id)).length
  server.on('/feed', busy('first', 1100))
  await crawl(id)
  expect(await count()).toBe(1000)
  const first = await titles(id)
  expect([first.includes('first999'), first.includes('first1000')]).toEqual([true, false])
  server.on('/feed', busy('first', 1101))
  await crawl(id)
  expect(await count()).toBe(1000)
  server.on('/feed', busy('second', 700))
  await crawl(id)
  expect(await count()).toBe(1700)
  pass(2 * HOUR)
  server.on('/feed', busy('third', 700))
  await crawl(id)
  expect(await count()).toBe(2000)
  expect(await titles(id)).toContain('third299')
  await crawl(id)
  expect(await count()).toBe(2000)
  pass(22 * HOUR)
  await crawl(id)
  expect(await count()).toBe(2400)
})

test('a source that is deleted during its fetch leaves no entries', async () => {
  const id = await add('/feed')
  server.on('/feed', async (_request, response) => {
    await site.data.sources.delete(id)
    response.end(rss(['a', 'b']))
  })
  await expect(crawl(id)).rejects.toThrow('The source is not there.')
  expect(server.requests).toHaveLength(1)
  expect(await titles(id)).toEqual([])
})

function start(visiting: Fetcher = fetcher): Crawler {
  const crawler = startCrawler({
    data: site.data,
    parser: site.parser,
    fetcher: visiting,
    lookMs: 20,
    now: () => time,
    onError: (error) => {
      throw error
    },
  })
  onTestFinished(() => crawler.stop())
  return crawler
}

test('a crawler fetches at most two sources of a host at once, and all of them in the end', async () => {
  const held: (() => void)[] = []
  let most = 0
  let answered = 0
  const paths = ['/1', '/2', '/3', '/4', '/5']
  for (const path of paths)
    server.on(path, (_request, response) => {
      held.push(() => response.end(rss(['a'])))
      most = Math.max(most, held.length)
      // Two requests wait for each other, and then for some looks of the crawler.
      if (held.length === 2 || answered === 4)
        setTimeout(() => {
          for (const end of held.splice(0)) {
            answered++
            end()
          }
        }, 50)
    })
  const ids: string[] = []
  for (const path of paths) ids.push(await add(path))
  start()
  const fetched = async (): Promise<number> =>
    (await Promise.all(ids.map(sourceOf))).filter((source) => source.fetched !== undefined).length
  await expect
    .poll(
      async () => {
        pass(11_000)
        return fetched()
      },
      { timeout: 10_000 },
    )
    .toBe(5)
  expect(most).toBe(2)
})

test('slow sources of one person hold half of the places, and those of others are fetched', async () => {
  const slow = await Promise.all(Array.from({ length: 8 }, () => openFeedServer()))
  onTestFinished(async () => void (await Promise.all(slow.map((each) => each.close()))))
  let asked = 0
  for (const each of slow) each.on('/feed', () => void asked++)
  server.on('/feed', answer(rss(['a'])))
  const guard = createGuard({ allow: [server, ...slow].map(({ place }) => place) })
  const visiting = createFetcher({ guard })
  onTestFinished(() => visiting.close())
  const feeds = slow.map(({ origin }) => ({ address: `${origin}/feed` }))
  await addSources(site.data, feeds, { personId: site.store.newId(), now: time })
  pass(1000)
  const id = await add('/feed')
  start(visiting)
  await expect
    .poll(
      async () => {
        pass(1000)
        return titles(id)
      },
      { timeout: 10_000 },
    )
    .toEqual(['a'])
  expect(asked).toBe(4)
})

test('a crawler that is stopped gives its sources back at once', async () => {
  const reached = Promise.withResolvers<void>()
  server.on('/slow', () => reached.resolve())
  const id = await add('/slow')
  const crawler = start()
  await reached.promise
  await crawler.stop()
  expect(await take()).toEqual([id])
})

test('a new source is fetched at once when the crawler is woken', async () => {
  server.on('/feed', answer(rss(['a'])))
  const crawler = startCrawler({
    data: site.data,
    parser: site.parser,
    fetcher,
    lookMs: HOUR,
    now: () => time,
    onError: () => undefined,
  })
  onTestFinished(() => crawler.stop())
  const id = await add('/feed')
  crawler.wake()
  await expect.poll(() => titles(id)).toEqual(['a'])
})

test.each(['memory 0', 'memory 1'])(
  'while %s is stopped, sources of the other shard are taken once, and those on it are taken when it is back',
  async (stopped) => {
    const feeds = Array.from({ length: 200 }, (_, i) => ({ address: `${server.origin}/${i}` }))
    const saved = await addSources(site.data, feeds, { personId: undefined, now: time })
    const ids = saved.map(({ id }) => id)
    const taken: string[] = []
    const takeAll = async (): Promise<void> => {
      for (let more = await take(100); more.length > 0; more = await take(100)) taken.push(...more)
    }
    stop(stopped)
    const { unread } = await site.data.sources.getMany(ids, SKIP)
    await takeAll()
    bringBack()
    // A source is taken if its stripe is on a shard that answers, too.
    expect(taken.length).toBeGreaterThan(20)
    expect(taken.filter((id) => unread.includes(id as never))).toEqual([])
    await takeAll()
    expect(taken.toSorted()).toEqual(ids.toSorted())
  },
)

/** Adds sources, and returns some that can be taken while a shard is stopped. */
async function addTakeable(stopped: string): Promise<string[]> {
  await Promise.all(Array.from({ length: 150 }, (_, i) => add(`/${i}`)))
  stop(stopped)
  const ids = await take(100)
  bringBack()
  return ids.slice(0, 5)
}

test.each(['memory 0', 'memory 1'])(
  'while %s is stopped, sources of the other shard are fetched, and become aliases when it is back',
  async (stopped) => {
    const ids = await addTakeable(stopped)
    expect(ids).toHaveLength(5)
    for (const id of ids) {
      const path = new URL((await sourceOf(id)).feed_link ?? '').pathname
      const self = `${server.origin}/feed${path}`
      server.on(`/feed${path}`, answer(rss(['a', 'b'], { self })))
      await crawl(await add(`/feed${path}`))
      server.on(path, answer(rss(['a'])))
      await crawl(id)
      server.on(path, answer(rss(['a', 'b'], { self })))
      pass(HOUR)
      stop(stopped)
      expect(await crawl(id)).toMatchObject({ checked: time })
      bringBack()
      expect((await crawl(id)).same_as).toBeDefined()
    }
  },
)

test.each(['memory 0', 'memory 1'])(
  'while %s is stopped, sources of the other shard are fetched, and take their new addresses when it is back',
  async (stopped) => {
    const ids = await addTakeable(stopped)
    expect(ids).toHaveLength(5)
    for (const id of ids) {
      const path = new URL((await sourceOf(id)).feed_link ?? '').pathname
      server.on(path, redirect(301, `/new${path}`))
      server.on(`/new${path}`, answer(rss(['a'])))
      for (let i = 0; i < 2; i++) await crawl(id)
      pass(HOUR)
      stop(stopped)
      expect(await crawl(id)).toMatchObject({ checked: time })
      bringBack()
      expect((await crawl(id)).feed_link).toBe(`${server.origin}/new${path}`)
    }
  },
)

test('a look in which a shard stops answering gives the places of its sources back, and fetches the others', async () => {
  const ids = await Promise.all(['/a', '/b', '/c'].map((path) => add(path)))
  const { sources } = site.data
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The shard does not answer.')
  const updateMany = async (of: readonly Source[]) =>
    of.map((source) => (source.id === ids[1] ? { ok: true, value: source } : { ok: false, error: down }))
  const data = { ...site.data, sources: { ...sources, updateMany } } as unknown as typeof site.data
  const reserved = new Set<string>()
  const errors: unknown[] = []
  const taken = await takeDue(data, {
    limit: 10,
    leaseMs: LEASE,
    now: time,
    reserve: ({ id }) => Boolean(reserved.add(id)),
    release: ({ id }) => void reserved.delete(id),
    onError: (error) => errors.push(error),
  })
  expect(taken.map(({ id }) => id)).toEqual([ids[1]])
  expect([...reserved]).toEqual([ids[1]])
  expect(errors).toEqual([down, down])
})
