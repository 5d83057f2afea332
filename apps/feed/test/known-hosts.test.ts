import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
let port: number
beforeAll(async () => {
  site = await openTestSite({ origin: 'https://feed.example.org' })
  port = Number(new URL(await site.app.listen({ port: 0, host: '127.0.0.1' })).port)
})
afterAll(() => site.close())

interface Answer {
  readonly status: number | undefined
  readonly body: string
}

/** Sends a request for any host name, as a browser would for an attacker's page. */
function ask(host: string | undefined, method = 'GET', path = '/', body = ''): Promise<Answer> {
  const headers = { ...(host === undefined ? {} : { host }), 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const sent = request(
      { port, host: '127.0.0.1', method, path, headers, setHost: false, agent: false },
      (reply) => {
        let text = ''
        reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        reply.on('end', () => resolve({ status: reply.statusCode, body: text }))
      },
    )
    sent.on('error', reject).end(body)
  })
}

test.each(['localhost:PORT', 'LOCALHOST:PORT', '127.0.0.1:PORT', '[::1]:PORT', 'feed.example.org'])(
  '%s is a name of the site',
  async (name) => {
    expect((await ask(name.replace('PORT', `${port}`))).status).toBe(200)
  },
)

test.each([
  'attacker.example',
  'attacker.example:PORT',
  'localhost.attacker.example:PORT',
  'localhost:1',
  'localhost',
  '127.0.0.1.attacker.example:PORT',
  'feed.example.org:PORT',
  '',
])('no page answers under the name “%s”', async (name) => {
  const host = name.replace('PORT', `${port}`)
  const replies = [
    await ask(host),
    await ask(host, 'HEAD'),
    await ask(host, 'OPTIONS'),
    await ask(host, 'GET', '/nothing'),
    await ask(host, 'GET', '/%'),
    await ask(host, 'GET', `/tags/${'x'.repeat(300)}`),
    await ask(host, 'GET', '/assets/style.css'),
    await ask(host, 'GET', `http://localhost:${port}/`),
    await ask(host, 'POST', '/sign-in', 'name=mira'),
    await ask(host, 'DELETE', '/entries/x'),
  ]
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 421))
  expect(replies[0]?.body).toContain('This site is not known by that name')
  expect(replies[0]?.body).toContain('href="https://feed.example.org"')
  expect(replies[0]?.body).not.toContain('Looseleaf')
})

test('signing in and posting under an unknown name are refused', async () => {
  const visitor = createVisitor(site.app)
  await visitor.signIn('mira')
  const payload = new URLSearchParams({ token: visitor.token(), title: 'Rebound' }).toString()
  const headers = {
    cookie: visitor.cookie(),
    host: 'attacker.example',
    origin: 'http://attacker.example',
    'content-type': 'application/x-www-form-urlencoded',
  }
  const reply = await site.app.inject({ method: 'POST', url: '/post', headers, payload })
  expect(reply.statusCode).toBe(421)
  expect(reply.headers['set-cookie']).toBeUndefined()
  expect(textOf((await visitor.get('/people/mira')).body)).not.toContain('Rebound')
})

test('a feed contains addresses with the requested host name', async () => {
  const atom = async (host: string): Promise<string> =>
    (await site.app.inject({ url: '/feed.atom', headers: { host } })).body
  expect(await atom('feed.example.org')).toContain('href="https://feed.example.org/feed.atom"')
  expect(await atom('localhost')).toContain('href="http://localhost/feed.atom"')
})

test('a cookie of a site with an https origin is sent over https only', async () => {
  const cookie = async (host: string): Promise<unknown> =>
    (await site.app.inject({ url: '/sign-in', headers: { host } })).headers['set-cookie']
  expect(await cookie('feed.example.org')).toMatch(/; Secure/)
  expect(await cookie('localhost')).not.toMatch(/Secure/)
})
