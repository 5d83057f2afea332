import { randomBytes } from 'node:crypto'
import type { Refuse } from '../src/stage/faults/shard-faults.ts'
import { LooseleafError } from 'looseleaf'
import { beforeAll, afterAll, expect, test } from 'vitest'
import { MAX_BODY_LENGTH } from '../src/feeds/parse/parsed-feed.ts'
import { settingOnce } from '../src/domain/site/settings.ts'
import { readSample } from '../src/day/sample/read-sample.ts'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

const KINDS = ['person', 'source', 'entry', 'comment', 'like', 'import', 'session', 'setting']
const PUBLIC = ['person', 'source', 'entry', 'comment', 'like']

let site: TestSite
let secret: Buffer
/** An entity of each public kind, and all private entities. */
let ids: Map<string, string[]>

beforeAll(async () => {
  site = await openTestSite()
  secret = randomBytes(32)
  const { data, store } = site.site
  await settingOnce(data.settings, 'cookie secret', () => secret.toString('base64url'))
  await createVisitor(site.app).signIn('mira')
  const person_id = store.newId()
  await data.imports.insert({
    person_id,
    title: 'A private list',
    format: 'opml',
    entries: 0,
    sources: 0,
    imported: new Date(),
  })
  ids = new Map()
  for await (const { id, _kind } of store.scan()) {
    const own = ids.get(String(_kind)) ?? []
    ids.set(String(_kind), own)
    if (own.length === 0 || !PUBLIC.includes(String(_kind))) own.push(id)
  }
})
afterAll(() => site.close())

const bytesIn = (text: string): Buffer =>
  Buffer.from(
    [...text.matchAll(/(?:^|>)[0-9a-f]{4} {2}([0-9a-f ]{47})/gm)]
      .map(([, digits]) => digits)
      .join('')
      .replaceAll(' ', ''),
    'hex',
  )

/** Reads a page of the window, and checks that it contains no secret. */
async function page(path: string): Promise<string> {
  const { statusCode, body } = await site.app.inject(path)
  expect(statusCode).toBe(200)
  expect(body.length).toBeLessThan(60_000)
  for (const text of [secret, Buffer.from(secret.toString('base64url'))].flatMap((bytes) => [
    bytes.toString('hex').slice(0, 16),
    bytes.toString('base64').slice(0, 16),
    bytes.toString('base64url').slice(0, 16),
    bytes.toString('latin1').slice(0, 16),
  ]))
    expect(body).not.toContain(text)
  expect(bytesIn(body).includes(secret.toString('base64url').slice(0, 12))).toBe(false)
  expect(body).not.toContain('A private list')
  return body
}

test('the window shows values and bytes of public entities only', async () => {
  for (const kind of KINDS) {
    expect(ids.get(kind)!.length).toBeGreaterThan(0)
    for (const id of ids.get(kind)!) {
      const text = await page(`/store/entity/${id}`)
      const isShown = PUBLIC.includes(kind)
      expect(text.includes('The bytes are not shown')).toBe(!isShown)
      expect(bytesIn(text).length > 0).toBe(isShown)
    }
  }
})

test('the stored entities of entries, people and sources lead to their pages on the site, and others to none', async () => {
  for (const [kind, [id]] of ids) {
    const text = await page(`/store/entity/${id}`)
    const path = /<a href="([^"]+)">This \w+ on the site</.exec(text)?.[1]
    expect([kind, path !== undefined]).toEqual([kind, ['entry', 'person', 'source'].includes(kind)])
    if (path !== undefined) expect((await site.app.inject(path)).statusCode).toBe(200)
  }
})

test('the window shows that a long article of the sample is stored compressed', async () => {
  const long = (await readSample()).entries.filter(({ body = '' }) => body.length > 1_000)
  expect(long.length).toBeGreaterThan(0)
  const titles = new Set(long.map(({ title }) => title))
  for await (const { id, _kind, title, body } of site.site.store.scan()) {
    if (_kind !== 'entry' || !titles.delete(title as string)) continue
    // At most the length to which an import would cut it.
    expect((body as string).length).toBeLessThanOrEqual(MAX_BODY_LENGTH)
    const text = textOf(await page(`/store/entity/${id}`))
    const [, stored, plain] = /zlib: ([\d,]+) bytes instead of ([\d,]+)/
      .exec(text)!
      .map((number) => Number(number.replace(',', '')))
    expect(stored).toBeLessThan(plain! * 0.7)
  }
  expect(titles.size).toBe(0)
})

test('the page of an entry links to its stored bytes and index rows', async () => {
  const id = ids.get('entry')![0]!
  const { body } = await site.app.inject(`/entries/${id}`)
  const [, address = ''] = /<a href="([^"]+)">How this entry is stored</.exec(body) ?? []
  expect(await page(address)).toContain(`<h1>Entity ${id}</h1>`)
})

test('no page of the window contains the cookie secret in any encoding', async () => {
  const asked = new Set([
    '/store',
    '/store/shards',
    '/store/live',
    '/store/index',
    '/store/entity',
    '/store/xray',
  ])
  for (const path of asked) {
    const text = await page(path)
    const links = [...text.matchAll(/href="(\/store\/index[^"]*)"/g)].map(([, href]) =>
      href!.replaceAll('&#38;', '&'),
    )
    // Pages of the same index have cursors in their addresses, so they are visited once per index.
    for (const href of links) if (!href.includes('after=') || !path.includes('after=')) asked.add(href)
  }
  expect([...asked].filter((path) => path.includes('session_by_person')).length).toBeGreaterThan(1)
  const sessions = [...asked].filter((path) => path.includes('session_by_person'))
  for (const path of sessions) expect(await page(path)).not.toContain('signed_in: ')
  expect([...asked].some((path) => path.includes('after='))).toBe(true)
})

test('a form that redirects to a page has an X-ray', async () => {
  const list = await page('/store/xray')
  const [, address = ''] = /href="([^"]+)">POST \/sign-in</.exec(list) ?? []
  expect(address).toMatch(/^\/store\/xray\//)
  const drawn = /<svg[\s\S]*<\/svg>/.exec(await page(address))?.[0]
  expect(drawn).toMatch(/<g class="entities write">/)
})

test('the page after a redirect links once to the X-ray of its form', async () => {
  const visitor = createVisitor(site.app)
  await visitor.get('/sign-in')
  const linkOf = (body: string): string | undefined =>
    /<a href="([^"]+)">X-ray of the form that led here</.exec(body)?.[1]
  const forms = [
    ['/sign-in', { name: 'mira', back: '/post' }],
    ['/post', { title: 'An entry with an X-ray' }],
  ] as const
  for (const [path, fields] of forms) {
    const { statusCode, headers } = await visitor.post(path, fields)
    expect(statusCode).toBe(303)
    const led = await visitor.get(headers.location as string)
    expect(textOf(led.body)).toMatch(/X-ray of this page · X-ray of the form that led here/)
    expect(await page(linkOf(led.body)!)).toContain(`<h1>X-ray: POST ${path}</h1>`)
    expect(linkOf((await visitor.get('/post')).body)).toBeUndefined()
  }
  const refused = await visitor.post('/post', {})
  expect(refused.statusCode).toBe(422)
  expect(linkOf((await visitor.get('/post')).body)).toBeUndefined()
})

test('a form that is answered with a page has one X-ray, linked from that page', async () => {
  const visitor = createVisitor(site.app)
  await visitor.get('/sign-in')
  const ofForms = async (): Promise<string[]> =>
    [...(await page('/store/xray')).matchAll(/href="([^"]+)">POST \/sign-in</g)].map(([, href]) => href!)
  const before = await ofForms()
  const { statusCode, body } = await visitor.post('/sign-in', { name: 'nobody' })
  expect(statusCode).toBe(422)
  const [address, ...others] = (await ofForms()).filter((href) => !before.includes(href))
  expect(others).toEqual([])
  expect(body).toContain(`href="${address}"`)
})

test('the foot of a failed page shows its cost, and its X-ray shows the failure', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('mira')
  const { refusals } = site.stage.faults
  // Pages go on without a shard that is down, but not without one whose data cannot be read.
  const refuse: Refuse = ({ table, shard }) =>
    table.includes('entry_by_time')
      ? new LooseleafError('SHARD_UNAVAILABLE', `The file of ${shard} is damaged.`, {
          shard,
          retryable: false,
        })
      : undefined
  refusals.add(refuse)
  try {
    const { statusCode, body } = await visitor.get('/everything')
    expect(statusCode).toBe(500)
    const text = textOf(body)
    expect(text).not.toContain('was not saved')
    expect(text).toMatch(
      /This page made \d calls to the store, in \d statements? .* 1 of the calls failed: SHARD_UNAVAILABLE\./,
    )
    expect(text).toContain('Signed in as Mira')
    const [, address = ''] = /<a href="([^"]+)">X-ray of this page</.exec(body) ?? []
    expect(await page(address)).toContain('SHARD_UNAVAILABLE')
    const feed = await visitor.get('/feed.atom')
    expect([feed.statusCode, feed.headers['content-type']]).toEqual([500, 'text/plain; charset=utf-8'])
    expect(await page('/store/xray')).toContain('>GET /feed.atom<')
  } finally {
    refusals.delete(refuse)
  }
})
