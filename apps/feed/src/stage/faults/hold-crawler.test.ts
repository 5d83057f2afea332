import { memoryShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { answer, openFeedServer, rss } from '../../../test/feed-server.ts'
import { startCrawler } from '../../crawler/crawler.ts'
import { createFetcher } from '../../crawler/fetch/fetch-feed.ts'
import { createGuard } from '../../crawler/guard/guard.ts'
import { createLoop } from '../../domain/site/loop.ts'
import { openSite } from '../../domain/site/site.ts'
import { addSources } from '../../domain/sources/add-sources.ts'
import { holdCrawler } from './hold-crawler.ts'

test('a held crawler fetches nothing, and the outcome counts the sources that it has fetched after its start', async () => {
  const server = await openFeedServer()
  onTestFinished(() => server.close())
  const { data, parser, close } = await openSite({ shards: memoryShards(2), cleaner: false })
  onTestFinished(close)
  const fetcher = createFetcher({ guard: createGuard({ allow: [server.place] }) })
  onTestFinished(() => fetcher.close())
  const errors: unknown[] = []
  const loop = createLoop(() =>
    startCrawler({ data, parser, fetcher, lookMs: 20, onError: (error) => errors.push(error) }),
  )
  onTestFinished(() => loop.close())
  loop.start()

  const ending = new AbortController()
  const shown: string[] = []
  const outcomes: string[] = []
  const held = holdCrawler(data, loop, 60_000, {
    signal: ending.signal,
    showProgress: (text) => void shown.push(text),
    setOutcome: (text) => void outcomes.push(text),
  })
  await expect.poll(() => shown.at(-1)).toMatch(/the loop starts again at .*; 0 sources wait to be fetched/)
  const paths = ['/feed', '/gone']
  server.on('/feed', answer(rss(['a'])))
  const feeds = paths.map((path) => ({ address: `${server.origin}${path}` }))
  await addSources(data, feeds, { personId: undefined, now: new Date() })
  await expect.poll(() => shown.at(-1), { timeout: 10_000 }).toContain('; 2 sources wait to be fetched')
  expect(server.requests).toEqual([])
  ending.abort()
  await held
  // A fetch that failed has taken place.
  expect(outcomes.at(-1)).toBe('It runs again. 2 sources became due meanwhile: 2 fetched since, 0 late.')
  expect(server.requests.map(({ url }) => url).toSorted()).toEqual(paths)
  expect(errors).toEqual([])
})
