import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openFeeds, type Feeds } from '../src/crawler/open-feeds.ts'
import { createApp } from '../src/app.ts'
import { addSources } from '../src/domain/sources/add-sources.ts'
import { answer, openFeedServer, rss, type FeedServer } from './feed-server.ts'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

const HOUR = 3_600_000
let server: FeedServer
let test_: TestSite
let feeds: Feeds
let app: TestSite['app']
let visitor: Visitor
beforeAll(async () => {
  server = await openFeedServer()
  test_ = await openTestSite()
  feeds = openFeeds(test_.site.data, { crawl: true, crawlAllow: [server.place] })
  app = await createApp({ site: { ...test_.site, feeds }, secret: 'a secret of at least thirty-two bytes' })
})
beforeEach(async () => {
  visitor = createVisitor(app)
  await visitor.signIn('mira')
})
afterAll(async () => {
  await app.close()
  await feeds.stop()
  await test_.close()
  await server.close()
})

const add = (address: string) => visitor.post('/add-source', { address })

test('a feed that is added by its address is fetched, and its page says how it is', async () => {
  server.on('/feed', answer(rss(['First loaf'], { title: 'Crumbs' })))
  const reply = await add(`${server.origin}/feed`)
  expect(reply.statusCode).toBe(303)
  const path = reply.headers.location as string
  await expect.poll(async () => (await visitor.get(path)).body).toContain('First loaf')
  const page = textOf((await visitor.get(path)).body)
  expect(page).toContain('Crumbs')
  expect(page).toMatch(/Last fetched just now\. Next fetch in (?:an hour|\d+ (?:minutes|hours))\./)
  expect(textOf((await visitor.get('/sources')).body)).toContain('Crumbs')
  // Adding it again leads to the same source.
  expect((await add(`${server.origin}/feed#top`)).headers.location).toBe(path)
  const again = await visitor.post(`${path}/fetch`)
  expect([again.statusCode, textOf(again.body)]).toEqual([
    409,
    expect.stringContaining('The site has fetched this source less than a minute ago.'),
  ])
})

test('a person follows each source that they add, also one that is here already', async () => {
  server.on('/followed', answer(rss(['Rye'], { title: 'Grains' })))
  const path = (await add(`${server.origin}/followed`)).headers.location as string
  await expect.poll(async () => (await visitor.get(path)).body).toContain('Rye')
  expect(textOf((await visitor.get(path)).body)).toContain('Yes, unfollow1 follower')
  visitor = createVisitor(app)
  await visitor.signIn('tomas')
  expect(textOf((await visitor.get('/')).body)).not.toContain('Rye')
  expect((await add(`${server.origin}/followed`)).headers.location).toBe(path)
  expect(textOf((await visitor.get('/')).body)).toContain('Rye')
  expect(textOf((await visitor.get(path)).body)).toContain('Yes, unfollow2 followers')
})

test('a page with several feeds offers a choice', async () => {
  const link = (href: string, title: string): string =>
    `<link rel="alternate" type="application/rss+xml" href="${href}" title="${title}">`
  server.on(
    '/page',
    answer(`<html><head>${link('/posts', 'Posts')}${link('/talk', '<b>Talk')}</head></html>`),
  )
  server.on('/talk', answer(rss(['Hello'], { title: 'Talk' })))
  const { body, statusCode } = await add(`${server.origin}/page`)
  expect(statusCode).toBe(200)
  expect(textOf(body)).toMatch(/several feeds.*Add Posts.*Add &lt;b>Talk/)
  const address = /name="address" value="([^"]+\/talk)"/.exec(body)?.[1] as string
  expect((await add(address)).statusCode).toBe(303)
})

test.each([
  ['127.0.0.1', 'The address is not on the public internet.'],
  ['http://127.0.0.1:3306/', 'Port 3306 cannot be fetched, only ports 80 and 443.'],
  ['not an address', 'This is not the address of a page or a feed on the web.'],
])('adding “%s” is refused with the reason, and the text stays', async (address, reason) => {
  const { body, statusCode } = await add(address)
  expect(statusCode).toBe(422)
  expect(textOf(body)).toContain(reason)
  expect(body).toContain(`value="${address}"`)
})

test('a source that fails says why and since when', async () => {
  server.on('/broken', answer('', {}, 500))
  const [source] = await addSources(test_.site.data, [{ address: `${server.origin}/broken` }], {
    personId: undefined,
  })
  feeds.wake()
  const path = `/sources/${source?.id}`
  await expect.poll(async () => (await visitor.get(path)).body).toContain('cannot be fetched')
  const page = textOf((await visitor.get(path)).body)
  expect(page).toMatch(
    /This feed cannot be fetched\. Its server has an error \(status 500\)\. *Last attempt just now, and none has succeeded yet\. Next fetch in/,
  )
})

test('the page of a source whose entries of a day are used up says so, until the day is over', async () => {
  const [source] = await addSources(test_.site.data, [{ address: 'https://busy.example/feed' }], {
    personId: undefined,
    now: new Date(Date.now() + 24 * HOUR),
  })
  const pageWith = async (used: number, hours: number): Promise<string> => {
    const since = new Date(Date.now() - hours * HOUR)
    await test_.site.data.sources.update(source!.id, { quota: { since, used } })
    return textOf((await visitor.get(`/sources/${source!.id}`)).body)
  }
  const text = 'It gets at most 1,000 new entries a day here.'
  expect(await pageWith(1000, 2)).toContain(`${text} The next ones come in 22 hours.`)
  expect(await pageWith(999, 2)).not.toContain(text)
  expect(await pageWith(1000, 24)).not.toContain(text)
})

test('strangers cannot add or fetch a source, and a source of a file is not fetched', async () => {
  const stranger = createVisitor(app)
  expect(textOf((await stranger.get('/add-source')).body)).toContain('Sign in to add a source')
  await stranger.get('/sign-in')
  expect((await stranger.post('/add-source', { address: server.origin })).statusCode).toBe(401)
  const [sample] = await test_.site.data.sources.byTime.all({}, { scatter: true })
  expect((await visitor.get(`/sources/${sample?.id}`)).body).not.toContain('Fetch now')
  expect((await visitor.post(`/sources/${sample?.id}/fetch`)).statusCode).toBe(409)
})

test('the page of a source that is fetched for another one offers no follow, and ends one that is left', async () => {
  const { data } = test_.site
  const feedsOf = ['old', 'new'].map((name) => ({ address: `https://${name}.example/feed` }))
  const [old, current] = await addSources(data, feedsOf, { personId: undefined })
  await data.sources.update(old!.id, { same_as: current!.id })
  const actions = async (): Promise<string[]> => {
    const { body } = await visitor.get(`/sources/${old!.id}`)
    return [...body.matchAll(/<form[^>]* action="[^"]*\/(follow|unfollow|publish)"/g)].map(([, act]) => act!)
  }
  expect(await actions()).toEqual([])
  await visitor.post('/follow', { channel: old!.id })
  expect(await actions()).toEqual(['unfollow'])
})
