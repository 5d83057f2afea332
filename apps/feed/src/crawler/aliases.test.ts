import { beforeEach, expect, test } from 'vitest'
import { HOUR, openCrawlBench, type CrawlBench } from '../../test/crawl-bench.ts'
import { answer, redirect, rss } from '../../test/feed-server.ts'
import { askForFetch } from '../domain/sources/ask-for-fetch.ts'
import { moveSource } from '../domain/sources/merge-sources.ts'
import { feedName } from '../domain/sources/source-names.ts'
import { followId } from '../kinds/follow.ts'
import { serviceId } from '../kinds/service.ts'
import type { Source } from '../kinds/source.ts'

let bench: CrawlBench
beforeEach(async () => {
  bench = await openCrawlBench()
})

test('a source takes its new address after three permanent redirects in a row', async () => {
  bench.server.on('/old', redirect(301, '/new'))
  bench.server.on('/new', answer(rss(['a'])))
  const id = await bench.add('/old')
  const addresses: unknown[] = []
  for (let i = 0; i < 2; i++) addresses.push((await bench.crawl(id)).feed_link)
  bench.server.on('/old', answer('', {}, 500))
  await bench.crawl(id)
  bench.server.on('/old', redirect(308, '/new'))
  for (let i = 0; i < 3; i++) addresses.push((await bench.crawl(id)).feed_link)
  const [old, current] = ['/old', '/new'].map((path) => `${bench.server.origin}${path}`)
  expect(addresses).toEqual([old, old, old, old, current])
  expect([await bench.add('/new'), await bench.add('/old')]).toEqual([id, id])
})

test('a source that has moved to the address of another becomes its alias, with its followers', async () => {
  bench.server.on('/old', redirect(301, '/new'))
  bench.server.on('/new', answer(rss(['a'])))
  const [old, current] = [await bench.add('/old'), await bench.add('/new')]
  const [ann, bob] = [bench.site.store.newId(), bench.site.store.newId()]
  const { follows, services } = bench.site.data
  for (const [person_id, channel_id] of [
    [ann, old],
    [bob, old],
    [bob, current],
  ] as const)
    await follows.insert(
      { person_id, channel_id, since: bench.time },
      { id: followId(person_id, channel_id) },
    )
  await services.insert({ person_id: ann, source_id: old, added: bench.time }, { id: serviceId(ann, old) })
  await bench.crawl(current)
  for (let i = 0; i < 3; i++) await bench.crawl(old)
  expect(await bench.sourceOf(old)).toMatchObject({ same_as: current, known_as: [] })
  expect((await bench.sourceOf(old)).next_check).toBeUndefined()
  expect(await askForFetch(bench.site.data, old, bench.time)).toBe(
    'The site fetches this feed for another source.',
  )
  expect(await bench.add('/old')).toBe(current)
  const followers = await follows.byChannel.all({ channel_id: current })
  expect(followers.map(({ id }) => id).toSorted()).toEqual(
    [followId(ann, current), followId(bob, current)].toSorted(),
  )
  expect(await follows.byChannel.all({ channel_id: old })).toEqual([])
  expect(await services.bySource.all({ source_id: current })).toMatchObject([{ person_id: ann }])
})

/** Crawls a source that redirects to `/new`, until it has done so three times. Another source is merged into it during the last fetch. */
async function crawlWhileMerging(id: string, other: string): Promise<Source> {
  bench.server.on('/old', redirect(301, '/new'))
  bench.server.on('/new', answer(rss(['a'])))
  for (let i = 0; i < 2; i++) await bench.crawl(id)
  bench.server.on('/new', async (_request, response) => {
    await moveSource(bench.site.data, await bench.sourceOf(other), await bench.sourceOf(id))
    response.end(rss(['b']))
  })
  const source = await bench.crawl(id)
  bench.server.on('/new', answer(rss(['b'])))
  return source
}

test('a source that moves keeps the names that another one gives it during the fetch', async () => {
  const [id, other] = [await bench.add('/old'), await bench.add('/other')]
  const { feed_link, known_as } = await crawlWhileMerging(id, other)
  const names = ['/old', '/other', '/new'].map((path) => feedName(`${bench.server.origin}${path}`))
  expect(feed_link).toBe(`${bench.server.origin}/new`)
  expect(known_as.toSorted()).toEqual(names.toSorted())
})

test('a source that gets names while it becomes an alias is fetched again, and then passes them on', async () => {
  const [id, other, current] = [await bench.add('/old'), await bench.add('/other'), await bench.add('/new')]
  const between = await crawlWhileMerging(id, other)
  expect(between).toMatchObject({
    known_as: [feedName(`${bench.server.origin}/other`)],
    next_check: bench.time,
  })
  expect(between.same_as).toBeUndefined()
  expect(await bench.crawl(id)).toMatchObject({ same_as: current, known_as: [] })
  const { known_as } = await bench.sourceOf(current)
  expect(known_as).toContain(feedName(`${bench.server.origin}/other`))
  expect(known_as).toContain(feedName(`${bench.server.origin}/old`))
})

test('a source that moves again and again keeps its own address and the newest of its names', async () => {
  const id = await bench.add('/old')
  const own = feedName(`${bench.server.origin}/old`)
  const earlier = Array.from({ length: 30 }, (_, i) => `feed earlier ${i}`)
  await bench.site.data.sources.update(id, { known_as: [own, ...earlier] })
  bench.server.on('/old', redirect(301, '/new'))
  bench.server.on('/new', answer(rss(['a'])))
  for (let i = 0; i < 3; i++) await bench.crawl(id)
  const moved = feedName(`${bench.server.origin}/new`)
  expect((await bench.sourceOf(id)).known_as).toEqual([...earlier.slice(11), moved])
  const another = await bench.add('/another')
  await moveSource(bench.site.data, await bench.sourceOf(another), await bench.sourceOf(id))
  const { known_as } = await bench.sourceOf(id)
  expect(known_as).toHaveLength(20)
  expect(known_as.slice(-2).toSorted()).toEqual(
    [feedName(`${bench.server.origin}/another`), moved].toSorted(),
  )
})

test('a feed that names the address of another source is its alias only if that has the same items', async () => {
  const self = `${bench.server.origin}/feed`
  bench.server.on('/feed', answer(rss(['a', 'b'], { self })))
  bench.server.on('/mirror', answer(rss(['a', 'b'], { self, title: 'Mirror' })))
  bench.server.on('/liar', answer(rss(['x', 'y'], { self })))
  const [feed, mirror, liar] = [
    await bench.add('/feed'),
    await bench.add('/mirror'),
    await bench.add('/liar'),
  ]
  await bench.crawl(feed)
  expect((await bench.crawl(mirror)).same_as).toBe(feed)
  expect((await bench.crawl(liar)).same_as).toBeUndefined()
  expect((await bench.titles(liar)).toSorted()).toEqual(['x', 'y'])
  expect((await bench.titles(feed)).toSorted()).toEqual(['a', 'b'])
})

/** Adds sources, and returns some that can be taken while a shard is stopped. */
async function addTakeable(stopped: string): Promise<string[]> {
  await Promise.all(Array.from({ length: 150 }, (_, i) => bench.add(`/${i}`)))
  bench.stop(stopped)
  const ids = await bench.take(100)
  bench.bringBack()
  return ids.slice(0, 5)
}

test.each(['memory 0', 'memory 1'])(
  'while %s is stopped, sources of the other shard are fetched, and become aliases when it is back',
  async (stopped) => {
    const ids = await addTakeable(stopped)
    expect(ids).toHaveLength(5)
    for (const id of ids) {
      const path = new URL((await bench.sourceOf(id)).feed_link ?? '').pathname
      const self = `${bench.server.origin}/feed${path}`
      bench.server.on(`/feed${path}`, answer(rss(['a', 'b'], { self })))
      await bench.crawl(await bench.add(`/feed${path}`))
      bench.server.on(path, answer(rss(['a'])))
      await bench.crawl(id)
      bench.server.on(path, answer(rss(['a', 'b'], { self })))
      bench.pass(HOUR)
      bench.stop(stopped)
      expect(await bench.crawl(id)).toMatchObject({ checked: bench.time })
      bench.bringBack()
      expect((await bench.crawl(id)).same_as).toBeDefined()
    }
  },
)

test.each(['memory 0', 'memory 1'])(
  'while %s is stopped, sources of the other shard are fetched, and take their new addresses when it is back',
  async (stopped) => {
    const ids = await addTakeable(stopped)
    expect(ids).toHaveLength(5)
    for (const id of ids) {
      const path = new URL((await bench.sourceOf(id)).feed_link ?? '').pathname
      bench.server.on(path, redirect(301, `/new${path}`))
      bench.server.on(`/new${path}`, answer(rss(['a'])))
      for (let i = 0; i < 2; i++) await bench.crawl(id)
      bench.pass(HOUR)
      bench.stop(stopped)
      expect(await bench.crawl(id)).toMatchObject({ checked: bench.time })
      bench.bringBack()
      expect((await bench.crawl(id)).feed_link).toBe(`${bench.server.origin}/new${path}`)
    }
  },
)
