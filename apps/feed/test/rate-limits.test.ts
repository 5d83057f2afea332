import { afterEach, beforeEach, expect, test } from 'vitest'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

let at = Date.parse('2026-06-01T12:00:00Z')
let site: TestSite
beforeEach(async () => {
  site = await openTestSite({ now: () => new Date(at) })
})
afterEach(() => site.close())

async function signedIn(name: string, address?: string): Promise<Visitor> {
  const visitor = createVisitor(site.app, address)
  await visitor.signIn(name)
  return visitor
}

/** Sends forms until one is refused, and returns the number of accepted ones. */
async function flood(send: () => Promise<{ statusCode: number }>, most = 400): Promise<number> {
  for (let taken = 0; taken < most; taken++) if ((await send()).statusCode === 429) return taken
  return most
}

const postsBy = async (name: string): Promise<number> => {
  const { body } = await createVisitor(site.app).get(`/people/${name}`)
  return body.match(/<h2[^>]*><a[^>]*>Flooded</g)?.length ?? 0
}

test('posts beyond the rate are refused with a page that says when to try again', async () => {
  const mira = await signedIn('mira')
  expect(await flood(() => mira.post('/post', { title: 'Flooded' }))).toBe(10)
  const refused = await mira.post('/post', { title: 'Flooded' })
  expect(refused.statusCode).toBe(429)
  expect(refused.headers['retry-after']).toBe('6')
  expect(textOf(refused.body)).toContain('Try again in 6 seconds')
  expect(textOf(refused.body)).toContain('This page made no calls to the store.')
  at += 5_900
  expect(textOf((await mira.post('/post', { title: 'Flooded' })).body)).toContain('Try again in 1 second.')
  at += 100
  expect((await mira.post('/post', { title: 'Flooded' })).statusCode).toBe(303)
  expect(await postsBy('mira')).toBe(11)
})

test('a new session at the same address does not raise the rate limit', async () => {
  let posts = 0
  for (let i = 0; i < 8; i++) {
    const visitor = await signedIn('tomas', '198.51.100.1')
    posts += await flood(() => visitor.post('/post', { title: 'Flooded' }))
  }
  expect(posts).toBe(40)
  const elsewhere = await signedIn('tomas')
  expect((await elsewhere.post('/post', { title: 'Flooded' })).statusCode).toBe(303)
})

test('comments, likes, deletions, imports and sign-ins have separate rate limits', async () => {
  const mira = await signedIn('mira')
  const path = (await mira.post('/post', { title: 'Under fire' })).headers.location as string
  expect(await flood(() => mira.post(`${path}/comments`, { text: 'x' }))).toBe(20)
  let clicks = 0
  expect(await flood(() => mira.post(`${path}/${clicks++ % 2 === 0 ? 'like' : 'unlike'}`))).toBe(60)
  expect(await flood(() => mira.post('/comments/01234567-89ab-7cde-8f01-23456789abcd/delete'))).toBe(30)
  expect(await flood(() => mira.upload('/import', [{ name: 'a.xml', text: 'x' }]))).toBe(5)
  expect((await mira.post('/post', { title: 'Not counted among them' })).statusCode).toBe(303)
  expect((await mira.post('/sign-out')).statusCode).toBe(303)
  const nobody = createVisitor(site.app)
  await nobody.get('/sign-in')
  expect(await flood(() => nobody.post('/sign-in', { name: 'nobody-here' }))).toBe(10)
})

test('a form from another site is refused without being counted', async () => {
  const mira = await signedIn('mira')
  const headers = { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' }
  for (let i = 0; i < 60; i++) {
    const forged = { method: 'POST', url: '/post', headers, payload: 'title=x' } as const
    expect((await site.app.inject(forged)).statusCode).toBe(403)
  }
  const { cookie, token } = { cookie: mira.cookie(), token: mira.token() }
  const payload = new URLSearchParams({ token, title: 'Mine' }).toString()
  const own = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const reply = await site.app.inject({ method: 'POST', url: '/post', headers: own, payload })
  expect(reply.statusCode).toBe(303)
})

test('an import beyond the rate is refused before its files are read', async () => {
  const mira = await signedIn('mira')
  await flood(() => mira.upload('/import', [{ name: 'a.xml', text: 'x' }]))
  const large = { name: 'big.xml', text: 'x'.repeat(70 * 1024 * 1024) }
  // If the site read it, it would refuse it as too large.
  expect((await mira.upload('/import', [large])).statusCode).toBe(429)
})
