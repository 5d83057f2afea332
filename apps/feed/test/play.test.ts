import type { Act, ActContext } from '@looseleaf/console'
import { memoryShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { openFeeds, type Feeds } from '../src/crawler/open-feeds.ts'
import { seedSample } from '../src/day/sample/seed.ts'
import { startDeliveries } from '../src/delivery/start-deliveries.ts'
import { openSite, type Site } from '../src/domain/site/site.ts'
import { playPage } from '../src/stage/play-page.ts'
import { createStage, type Stage } from '../src/stage/stage.ts'
import { SECRET, textOf } from './support.ts'

/** A site on a port that fetches and delivers in its own process. */
async function openWhole(): Promise<{ site: Site; feeds: Feeds; stage: Stage; url: string }> {
  const stage = createStage(memoryShards(2))
  const opened = await openSite({ ...stage, cleaner: false })
  await seedSample(opened.data)
  const feeds = openFeeds(opened.data, { crawl: true, crawlAllow: [] })
  const site = { ...opened, feeds, crawler: feeds.crawler }
  const deliveries = startDeliveries(site, { onError: () => {} })
  const onAct = (_: Act): void => {}
  const app = await createApp({ site, stage, secret: SECRET, onAct })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
    await Promise.all([deliveries.stop(), feeds.stop()])
    await opened.close()
  })
  return { site, feeds, stage, url }
}

test(
  'a day is played on a running site, delivers everything once, and leaves no publisher, session or follow behind',
  { timeout: 60_000 },
  async () => {
    const { site, feeds, stage, url } = await openWhole()
    const { data } = site
    const countOf = async (name: string): Promise<number> => {
      let count = 0
      for await (const { _kind } of site.store.scan()) if (_kind === name) count++
      return count
    }
    const [follows, sessions] = [await countOf('follow'), await countOf('session')]
    const size = { seconds: 2, people: 32, sources: 3 }
    const ends: (number | undefined)[] = []
    const page = playPage({
      site,
      faults: stage.faults,
      address: () => url,
      secret: SECRET,
      ...size,
      setEnd: (end) => ends.push(end),
    })
    const outcomes: string[] = []
    const context: ActContext = {
      signal: new AbortController().signal,
      showProgress: () => {},
      setOutcome: (outcome) => outcomes.push(outcome),
    }
    for (let day = 1; day <= 2; day++) {
      await page.plan('play', 'a day')!.run(context)
      expect(outcomes.at(-1)).toMatch(
        /^\w+ entries, \w+ comments? and \w+ likes?\. Expected \d+ inbox items: 0 lost, 0 twice; 0 requests failed\.$/,
      )
      const sources = (await data.sources.byTime.page({}, { order: 'desc', limit: 100, scatter: true })).items
      const played = sources.filter(({ stripe }) => stripe !== undefined)
      expect(played.map(({ next_check, problem }) => [next_check, problem])).toEqual(
        Array.from({ length: size.sources }, () => [undefined, undefined]),
      )
      const items = await Promise.all(
        played.map(({ id }) => data.entries.byPublisher.count({ publisher_id: id }, { exact: true })),
      )
      // Each source has a first item each day.
      expect(Math.min(...items)).toBeGreaterThanOrEqual(day)
      expect(feeds.allowed.size).toBe(0)
      expect([await countOf('follow'), await countOf('session')]).toEqual([follows, sessions])
    }
    expect(ends.map((end) => end !== undefined)).toEqual([true, false, true, false])
    expect(textOf(await (await fetch(`${url}/people/player-1`)).text()).includes('Player 1')).toBe(true)
  },
)
