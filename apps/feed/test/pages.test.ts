import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseFile } from '../src/feeds/parse/parse-file.ts'
import { postEntry } from '../src/domain/entries/entries.ts'
import { personByName } from '../src/domain/accounts/people.ts'
import { indexPurposes } from '../src/stage/index-purposes.ts'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite({ offered: true })
})
afterAll(() => site.close())

const entriesIn = (body: string): string[] =>
  [...body.matchAll(/<article class="entry" id="e-([^"]+)"/g)].map((match) => match[1] as string)

const linkIn = (body: string, rel: 'next' | 'prev'): string | undefined =>
  new RegExp(`<a class="button" rel="${rel}" href="([^"]+)"`).exec(body)?.[1]?.replaceAll('&amp;', '&')

test('the home page shows twenty entries; Older leads through all without a repeat, and Newer back', async () => {
  const visitor = createVisitor(site.app)
  const seen: string[] = []
  const back: string[] = []
  let path: string | undefined = '/'
  let last = ''
  while (path !== undefined) {
    const { body, statusCode } = await visitor.get(path)
    expect(statusCode).toBe(200)
    const ids = entriesIn(body)
    expect(ids.length).toBeLessThanOrEqual(20)
    seen.push(...ids)
    last = body
    path = linkIn(body, 'next')
  }
  for (let body = last; (path = linkIn(body, 'prev')) !== undefined;) {
    body = (await visitor.get(path)).body
    back.unshift(...entriesIn(body))
  }
  expect([...back, ...entriesIn(last)]).toEqual(seen)
  expect(seen.length).toBeGreaterThan(250)
  expect(new Set(seen).size).toBe(seen.length)
})

test('entries are listed newest first', async () => {
  const { body } = await createVisitor(site.app).get('/')
  const times = [...body.matchAll(/class="when"[^>]*><time datetime="([^"]+)"/g)].map(
    (match) => match[1] as string,
  )
  expect(times).toHaveLength(20)
  expect(times).toEqual(times.toSorted().toReversed())
})

test.each([
  '/',
  '/people',
  '/people/mira',
  '/people/MIRA',
  '/people/mira/likes',
  '/sources',
  '/sign-in',
  '/import',
])('the page %s is complete', async (path) => {
  const { body, statusCode, headers } = await createVisitor(site.app).get(path)
  expect(statusCode).toBe(200)
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(body).toMatch(/^<!doctype html><html lang="en">/)
  expect(body.match(/<h1/g)).toHaveLength(1)
  expect(body).toContain('<main')
  expect(body.match(/<script[^>]*>/g)).toEqual([
    expect.stringMatching(/^<script type="module" src="\/assets\/live\.js\?v=[0-9a-f]{12}">$/),
  ])
  expect(body).not.toMatch(/ style="/)
})

test('a source shows its entries and its owner', async () => {
  const visitor = createVisitor(site.app)
  const list = await visitor.get('/sources')
  const path = /<a class="name" href="(\/sources\/[^"]+)"><bdi>The Slow Query/.exec(list.body)?.[1] as string
  const page = textOf((await visitor.get(path)).body)
  expect(page).toContain('11 entries, brought in by Priya Lanternhill')
  expect(page).toContain('It was the time zone (part nine of nine)')
})

test('an entry shows all of its comments and other entries with its link', async () => {
  const visitor = createVisitor(site.app)
  let path: string | undefined
  for (let next = '/people/dario'; path === undefined;) {
    const { body } = await visitor.get(next)
    const card = body.split('<article').find((part) => part.includes('An orchestra of repaired instruments'))
    path = card === undefined ? undefined : /href="(\/entries\/[^"#]+)"/.exec(card)?.[1]
    next = (/rel="next" href="([^"]+)"/.exec(body)?.[1] ?? '').replaceAll('&amp;', '&')
    if (path === undefined) expect(next).not.toBe('')
  }
  const page = textOf((await visitor.get(path)).body)
  expect(page).toContain('4 comments')
  expect(page).toContain('Lost-property notice closed, after fifty-one years.')
  expect(page).toMatch(/Also shared by.*Two violins made of an ironing board.*Oskar Dovetail/)
  expect(page).toContain('Pascal Tallow')
})

test('other entries share the link of the entry that the window names for the offered index', async () => {
  const { href = '' } = indexPurposes['entry_by_link']?.page ?? {}
  const page = textOf((await createVisitor(site.app).get(href)).body)
  expect(page).toMatch(/knitted a barograph.*Also shared by.*Sunniva/)
})

test.each(['/feed.atom', '/people/mira/feed.atom'])('the feed %s can be imported', async (path) => {
  const { body, headers } = await createVisitor(site.app).get(path)
  expect(headers['content-type']).toBe('application/atom+xml; charset=utf-8')
  const parsed = parseFile(Buffer.from(body), { name: 'feed', now: new Date() })
  expect(parsed).toMatchObject({ type: 'feed', format: 'Atom', notes: [] })
  const titles = parsed.type === 'feed' ? parsed.items.map((item) => item.title) : []
  const page = textOf((await createVisitor(site.app).get(path.replace(/\/?feed.atom/, '') || '/')).body)
  expect(titles.length).toBeGreaterThan(5)
  for (const title of titles) expect(page).toContain(title)
})

test.each([
  '/nothing',
  '/people/nobody/feed.atom',
  '/people/nobody',
  '/people/no%20body',
  '/people/nobody/likes',
  '/sources/nonsense',
  '/sources/01234567-89ab-7cde-8f01-23456789abcd',
  '/entries/nonsense',
  '/entries/01234567-89ab-7cde-8f01-23456789abcd',
  '/assets/nothing.css',
  '/assets/../package.json',
])('the address %s is a friendly 404', async (path) => {
  const { statusCode, body } = await createVisitor(site.app).get(path)
  expect(statusCode).toBe(404)
  expect(textOf(body)).toContain('Not found')
})

test.each([
  '/?after=nonsense',
  '/people/mira?after=AAAA',
  `/?after=${'x'.repeat(5000)}`,
  '/?after=a&after=b',
  '/%',
])('the address %s is a friendly 400', async (path) => {
  const { statusCode, body } = await createVisitor(site.app).get(path)
  expect(statusCode).toBe(400)
  expect(body).toContain('To the newest entries')
})

test('a tag of 200 characters has a page, in any encoding, and a longer name in an address is a friendly 404', async () => {
  const visitor = createVisitor(site.app)
  for (const letter of ['x', '%25', '%C3%A9', '%2F']) {
    expect((await visitor.get(`/tags/${letter.repeat(200)}`)).statusCode).toBe(200)
    const { statusCode, body } = await visitor.get(`/tags/${letter.repeat(201)}`)
    expect([statusCode, textOf(body).includes('Not found')]).toEqual([404, true])
  }
  expect((await visitor.get(`/people/${'x'.repeat(8000)}/likes`)).statusCode).toBe(404)
})

test('the address of an entity under another kind is a 404', async () => {
  const visitor = createVisitor(site.app)
  const { body } = await visitor.get('/sources')
  const source = /href="\/sources\/([^"]+)"/.exec(body)?.[1] as string
  expect((await visitor.get(`/entries/${source}`)).statusCode).toBe(404)
})

test('every answer carries the security headers, and the style sheet may be kept', async () => {
  const visitor = createVisitor(site.app)
  for (const path of ['/', '/nothing', `/tags/${'x'.repeat(300)}`, '/assets/style.css']) {
    const { headers } = await visitor.get(path)
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['x-content-type-options']).toBe('nosniff')
  }
  const sheet = /href="(\/assets\/style\.css\?v=[0-9a-f]+)"/.exec(
    (await visitor.get('/')).body,
  )?.[1] as string
  expect((await visitor.get(sheet)).headers['cache-control']).toContain('immutable')
})

test('the page of a 404 shows the signed-in person', async () => {
  const visitor = createVisitor(site.app)
  expect(textOf((await visitor.get('/nowhere')).body)).toContain('Sign in')
  await visitor.signIn('mira')
  const { statusCode, body } = await visitor.get('/nowhere')
  expect(statusCode).toBe(404)
  expect(textOf(body)).toContain('Mira Saltmarsh')
  expect(textOf(body)).not.toContain('Sign in')
})

test('an error of the store is a friendly page without details', async () => {
  const broken = await openTestSite()
  const visitor = createVisitor(broken.app)
  await visitor.signIn('mira')
  await broken.site.store.close()
  const { statusCode, body } = await visitor.get('/')
  expect(statusCode).toBe(500)
  expect(textOf(body)).toContain('Something went wrong')
  // The signed-in person is unknown, so the page shows neither a name nor a link to sign in.
  expect(textOf(body)).not.toContain('Sign in')
  expect(broken.errors).toHaveLength(1)
  await broken.app.close()
})

test('the home page links to the window into the store if the site has one', async () => {
  const { body } = await createVisitor(site.app).get('/')
  expect(body).toContain('<a href="/store">Look into the store</a>')
  const open = await openTestSite({ sample: false, origin: 'https://feed.example.org' })
  const reply = await open.app.inject({ url: '/', headers: { host: 'feed.example.org' } })
  expect(reply.statusCode).toBe(200)
  expect(reply.body).not.toContain('Look into the store')
  await open.close()
})

test('an empty site says so on every page', async () => {
  const empty = await openTestSite({ sample: false })
  const visitor = createVisitor(empty.app)
  expect((await visitor.get('/')).body).toContain('A fresh, empty page')
  const people = textOf((await visitor.get('/people')).body)
  expect(people).toContain('No people yet')
  expect(people).toContain('Join as the first one.')
  expect((await visitor.get('/sources')).body).toContain('No sources yet')
  await empty.close()
})

test('a page links to a feed only if there is one with the same entries', async () => {
  const visitor = createVisitor(site.app)
  const noor = await personByName(site.site.data, 'noor')
  for (let i = 0; i < 20; i++)
    await postEntry(site.site.data, { person_id: noor?.id ?? '', title: `Note ${i}`, link: undefined })
  for (const path of ['/', '/people/noor']) {
    const { body } = await visitor.get(path)
    expect(body.match(/href="[^"]*feed\.atom"/g)).toHaveLength(2)
    const older = /rel="next" href="([^"]+)"/.exec(body)?.[1] as string
    expect((await visitor.get(older.replaceAll('&amp;', '&'))).body).not.toContain('feed.atom')
  }
  expect((await visitor.get('/people/mira/likes')).body).not.toContain('feed.atom')
})
