import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { HOUR, openCrawlBench, type CrawlBench } from '../../test/crawl-bench.ts'
import { answer, openFeedServer, rss } from '../../test/feed-server.ts'
import { addSources } from '../domain/sources/add-sources.ts'
import { startCrawler, type Crawler } from './crawler.ts'
import { createFetcher, type Fetcher } from './fetch/fetch-feed.ts'
import { createGuard } from './guard/guard.ts'

let bench: CrawlBench
beforeEach(async () => {
  bench = await openCrawlBench()
})

function start(visiting: Fetcher = bench.fetcher): Crawler {
  const crawler = startCrawler({
    data: bench.site.data,
    parser: bench.ctx.parser,
    fetcher: visiting,
    lookMs: 20,
    now: () => bench.time,
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
    bench.server.on(path, (_request, response) => {
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
  for (const path of paths) ids.push(await bench.add(path))
  start()
  const fetched = async (): Promise<number> =>
    (await Promise.all(ids.map(bench.sourceOf))).filter((source) => source.fetched !== undefined).length
  await expect
    .poll(
      async () => {
        bench.pass(11_000)
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
  bench.server.on('/feed', answer(rss(['a'])))
  const guard = createGuard({ allow: [bench.server, ...slow].map(({ place }) => place) })
  const visiting = createFetcher({ guard })
  onTestFinished(() => visiting.close())
  const feeds = slow.map(({ origin }) => ({ address: `${origin}/feed` }))
  await addSources(bench.site.data, feeds, { personId: bench.site.store.newId(), now: bench.time })
  bench.pass(1000)
  const id = await bench.add('/feed')
  start(visiting)
  await expect
    .poll(
      async () => {
        bench.pass(1000)
        return bench.titles(id)
      },
      { timeout: 10_000 },
    )
    .toEqual(['a'])
  expect(asked).toBe(4)
})

test('a crawler that is stopped gives its sources back at once', async () => {
  const reached = Promise.withResolvers<void>()
  bench.server.on('/slow', () => reached.resolve())
  const id = await bench.add('/slow')
  const crawler = start()
  await reached.promise
  await crawler.stop()
  expect(await bench.take()).toEqual([id])
})

test('a new source is fetched at once when the crawler is woken', async () => {
  bench.server.on('/feed', answer(rss(['a'])))
  const crawler = startCrawler({
    data: bench.site.data,
    parser: bench.ctx.parser,
    fetcher: bench.fetcher,
    lookMs: HOUR,
    now: () => bench.time,
    onError: () => undefined,
  })
  onTestFinished(() => crawler.stop())
  const id = await bench.add('/feed')
  crawler.wake()
  await expect.poll(() => bench.titles(id), { timeout: 10_000 }).toEqual(['a'])
})
