import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  // The times of entries are shown in words, which change with the clock.
  vi.useFakeTimers({ toFake: ['Date'] })
  site = await openTestSite()
})
afterAll(async () => {
  await site.close()
  vi.useRealTimers()
})

type Headers = Record<string, string>
const get = (url: string, headers: Headers = {}): Promise<LightMyRequestResponse> =>
  site.app.inject({ url, headers })

test.each(['/', '/people', '/people/mira', '/sources', '/feed.atom'])(
  'the unchanged page %s is a 304, for a visitor and a signed-in person',
  async (path) => {
    const mira = createVisitor(site.app)
    await mira.signIn('mira')
    for (const cookie of ['', mira.cookie()]) {
      const { headers, statusCode } = await get(path, { cookie })
      expect([statusCode, headers['cache-control']]).toEqual([200, 'private, no-cache'])
      const again = await get(path, { cookie, 'if-none-match': String(headers['etag']) })
      expect([again.statusCode, again.body]).toEqual([304, ''])
    }
  },
)

test('a page has another tag after a change, in another session, and for another person', async () => {
  const tagOf = async (cookie: string): Promise<unknown> => (await get('/', { cookie })).headers['etag']
  const mira = createVisitor(site.app)
  await mira.signIn('mira')
  const first = await tagOf(mira.cookie())
  await mira.post('/post', { title: 'A change' })
  const second = await tagOf(mira.cookie())
  // The forms of the page before would be refused.
  await mira.signIn('mira')
  const tags = [first, second, await tagOf(mira.cookie()), await tagOf('')]
  expect(new Set(tags).size).toBe(4)
})

test.each(['/sign-in', '/join'])(
  'the page %s is sent again to a browser that has lost the cookie of its forms, which would be refused',
  async (path) => {
    const visitor = createVisitor(site.app)
    const first = String((await visitor.get(path)).headers['etag'])
    const known = String((await visitor.get(path)).headers['etag'])
    const unchanged = await get(path, { cookie: visitor.cookie(), 'if-none-match': known })
    expect(unchanged.statusCode).toBe(304)
    for (const tag of [first, known]) expect((await get(path, { 'if-none-match': tag })).statusCode).toBe(200)
  },
)

test('a page is sent again to a signed-in person who has lost the cookie of its forms', async () => {
  const mira = createVisitor(site.app)
  await mira.signIn('mira')
  const { headers } = await mira.get('/post')
  const tag = { 'if-none-match': String(headers['etag']) }
  expect((await get('/post', { cookie: mira.cookie(), ...tag })).statusCode).toBe(304)
  const cookie = mira.cookie().replace(/form_secret=[^;]*/, '')
  expect((await get('/post', { cookie, ...tag })).statusCode).toBe(200)
})

test('the page after a form is sent again, because it links to the X-ray of the form', async () => {
  const tomas = createVisitor(site.app)
  await tomas.signIn('tomas')
  const { headers } = await get('/people/mira', { cookie: tomas.cookie() })
  const path = /href="(\/entries\/[^"#]+)"/.exec((await tomas.get('/people/mira')).body)?.[1]
  await tomas.post(`${path}/unlike`, { back: '/people/mira' })
  const page = await get('/people/mira', { cookie: tomas.cookie(), 'if-none-match': String(headers['etag']) })
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('X-ray of the form that led here')
})

test.each(['/', '/assets/style.css', '/feed.atom'])('the answer %s is compressed', async (path) => {
  const plain = (await get(path)).rawPayload
  const gzip = await get(path, { 'accept-encoding': 'gzip' })
  expect([gzip.headers['content-encoding'], gzip.headers['vary']]).toEqual(['gzip', 'accept-encoding'])
  const brotli = await get(path, { 'accept-encoding': 'gzip, br' })
  expect(brotli.headers['content-encoding']).toBe('br')
  for (const bytes of [gunzipSync(gzip.rawPayload), brotliDecompressSync(brotli.rawPayload)])
    expect(Math.abs(bytes.length - plain.length)).toBeLessThan(100)
})

test('a compressed request body is refused', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' }
  const reply = await site.app.inject({ method: 'POST', url: '/sign-in', headers, payload: 'name=mira' })
  expect(reply.statusCode).toBeGreaterThanOrEqual(400)
})

test.each([
  ['POST', '/', 'GET, HEAD'],
  ['DELETE', '/people/mira', 'GET, HEAD'],
  ['GET', '/sign-out', 'POST'],
  ['HEAD', '/entries/01234567-89ab-7cde-8f01-23456789abcd/like', 'POST'],
  ['PUT', '/post', 'GET, HEAD, POST'],
  ['OPTIONS', '/feed.atom', 'GET, HEAD'],
  ['POST', '/assets/style.css', 'GET, HEAD'],
] as const)('the method %s of %s is a 405 that allows %s', async (method, url, allow) => {
  const headers = { 'content-type': 'text/xml' }
  const reply = await site.app.inject({ method, url, ...(method === 'GET' ? {} : { headers, payload: '<' }) })
  expect([reply.statusCode, reply.headers['allow']]).toEqual([405, allow])
  expect(reply.headers['content-type']).toBe('text/html; charset=utf-8')
})

test.each([
  ['/settings/profile', '/settings'],
  ['/entries/01234567-89ab-7cde-8f01-23456789abcd/like', '/entries/01234567-89ab-7cde-8f01-23456789abcd'],
])('the page of status 405 at the address %s of a form leads to the page above it', async (url, above) => {
  const { statusCode, body } = await get(url)
  expect(statusCode).toBe(405)
  expect(textOf(body)).toContain('To the page of this form')
  expect(body).toContain(`href="${above}"`)
})

test('a form to an address that does not exist is a page of status 404', async () => {
  const reply = await site.app.inject({ method: 'POST', url: '/nothing', payload: '' })
  expect(reply.statusCode).toBe(404)
  expect(reply.body).toContain('<!doctype html>')
})

test.each(['/', '/people/mira', '/feed.atom', '/assets/style.css', '/nothing'])(
  'HEAD of %s has the headers of GET and no body',
  async (url) => {
    const [head, whole] = [await site.app.inject({ method: 'HEAD', url }), await get(url)]
    expect([head.statusCode, head.body]).toEqual([whole.statusCode, ''])
    for (const name of ['content-type', 'cache-control', 'content-security-policy', 'etag'])
      expect([name, head.headers[name]]).toEqual([name, whole.headers[name]])
  },
)

test.each([
  ['/people/', '/people'],
  ['/people/mira/?after=x', '/people/mira?after=x'],
  ['/nothing/', '/nothing'],
  ['/favicon.ico', '/assets/icon.svg'],
])('the address %s leads to %s', async (url, target) => {
  const { statusCode, headers } = await get(url)
  expect([statusCode, headers.location]).toEqual([308, target])
})

test.each(['//evil.example/', '/\\evil.example/', '/%2f/evil.example/'])(
  'the address %s leads to no other site',
  async (url) => {
    const { statusCode, headers } = await get(url)
    if (statusCode !== 308) expect(statusCode).toBeGreaterThanOrEqual(400)
    expect(String(headers.location ?? '/')).toMatch(/^\/(?![/\\])/)
  },
)

test('errors are never stored, and carry the security headers', async () => {
  for (const [url, status] of [
    ['/nothing', 404],
    ['/?after=nonsense', 400],
    ['/%', 400],
    ['/sign-out', 405],
  ] as const) {
    const { statusCode, headers } = await get(url)
    expect([statusCode, headers['cache-control']]).toEqual([status, 'no-store'])
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['x-frame-options']).toBe('DENY')
  }
})

test('a form that cannot be parsed, or is too large, is answered by a page', async () => {
  const send = (type: string, payload: string): Promise<LightMyRequestResponse> =>
    site.app.inject({ method: 'POST', url: '/sign-in', headers: { 'content-type': type }, payload })
  for (const [type, payload, status] of [
    ['application/json', '{"name":"mira"}', 415],
    ['text/plain', 'name=mira', 415],
    ['application/x-www-form-urlencoded', 'x'.repeat(70_000), 413],
    ['application/x-www-form-urlencoded', 'name=mira', 403],
  ] as const) {
    const { statusCode, body } = await send(type, payload)
    expect([type, statusCode]).toEqual([type, status])
    expect(body).toContain('<!doctype html>')
  }
})
