import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { sqliteShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'
import { openFeeds } from '../src/crawler/open-feeds.ts'
import { addSources } from '../src/domain/sources/add-sources.ts'
import { openSite } from '../src/domain/site/site.ts'
import { answer, openFeedServer, rss } from './feed-server.ts'

const LEASE_MS = 2_000

test('idea 1: a crawler takes over the source of one that was killed in the middle of a fetch, when the lease ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-crawl-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const server = await openFeedServer()
  onTestFinished(() => server.close())
  const site = await openSite({ shards: sqliteShards({ folder, shards: 2 }), cleaner: false })
  onTestFinished(() => site.close())
  const reached = Promise.withResolvers<number>()
  server.on('/feed', () => reached.resolve(Date.now()))
  const [source] = await addSources(site.data, [{ address: `${server.origin}/feed` }], {
    personId: undefined,
  })
  const id = source?.id ?? ''

  const child: ChildProcess = fork(await bundleOf(new URL('./crawl-child.ts', import.meta.url)), {
    env: { ...process.env, FOLDER: folder, ALLOW: server.place, LEASE_MS: `${LEASE_MS}` },
    execArgv: ['--conditions=@looseleaf/source'],
    stdio: 'inherit',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await reached.promise
  const leased = await site.data.sources.get(id)
  child.kill('SIGKILL')
  server.on('/feed', answer(rss(['a'])))

  const feeds = openFeeds(site.data, { crawl: true, crawlAllow: [server.place] })
  onTestFinished(() => feeds.stop())
  await expect
    .poll(
      async () => {
        feeds.wake()
        return (await site.data.sources.get(id))?.fetched
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBeDefined()
  const fetched = (await site.data.sources.get(id))?.fetched?.getTime() ?? 0
  expect(fetched).toBeGreaterThanOrEqual(leased?.leased_until?.getTime() ?? Infinity)
  expect(server.requests).toHaveLength(2)
  expect(await site.data.entries.byPublisher.all({ publisher_id: id })).toMatchObject([{ title: 'a' }])
})
