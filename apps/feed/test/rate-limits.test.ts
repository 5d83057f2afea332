import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { hashCheaply } from './cheap-hashes.ts'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

const MINUTE = 60_000
const PASSWORD = 'four words in order'
hashCheaply()
let site: TestSite
beforeAll(async () => {
  site = await openTestSite({ isLimited: true })
})
afterAll(() => site.close())

// Each test begins at another minute, so that the counts of the others are forgotten.
let at = Date.now()
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: (at += 10 * MINUTE) })
})
afterEach(() => void vi.useRealTimers())

async function signedIn(name: string, address?: string): Promise<Visitor> {
  const visitor = createVisitor(site.app, address)
  await visitor.signIn(name)
  return visitor
}

/** Sends forms until one is refused, and returns the number of accepted ones. */
async function flood(send: () => Promise<{ statusCode: number }>, most = 100): Promise<number> {
  for (let taken = 0; taken < most; taken++) if ((await send()).statusCode === 429) return taken
  return most
}

/** Joins at an address and signs out. Returns the browser, which stays known. */
async function signedOut(name: string, address: string): Promise<Visitor> {
  const visitor = createVisitor(site.app, address)
  await visitor.get('/join')
  await visitor.post('/join', { name, full_name: name, password: PASSWORD })
  await visitor.get('/settings')
  await visitor.post('/sign-out')
  return visitor
}

test('posts beyond the limit are refused with a page that says when to try again', async () => {
  const mira = await signedIn('mira')
  const send = (): ReturnType<Visitor['post']> => mira.post('/post', { title: 'Flooded' })
  expect(await flood(send)).toBe(10)
  vi.setSystemTime(at + MINUTE - 6000)
  const refused = await send()
  expect(refused.statusCode).toBe(429)
  expect(refused.headers['retry-after']).toBe('6')
  expect(textOf(refused.body)).toContain('Try again in 6 seconds')
  expect(textOf(refused.body)).toContain('This page made no calls to the store.')
  vi.setSystemTime(at + MINUTE - 100)
  expect(textOf((await send()).body)).toContain('Try again in 1 second.')
  vi.setSystemTime(at + MINUTE)
  expect((await send()).statusCode).toBe(303)
  const { body } = await createVisitor(site.app).get('/people/mira')
  expect(body.match(/>Flooded</g)).toHaveLength(11)
})

test('the limit of an account holds for all of its sessions and addresses', async () => {
  let posts = 0
  for (let i = 0; i < 3; i++) {
    const tomas = await signedIn('tomas')
    posts += await flood(() => tomas.post('/post', { title: 'Flooded' }))
  }
  expect(posts).toBe(10)
  const mira = await signedIn('mira')
  expect((await mira.post('/post', { title: 'Calm' })).statusCode).toBe(303)
})

test('strangers of one address share a limit, and those of one IPv6 network', async () => {
  const signInsFrom = async (address: string): Promise<number> => {
    const stranger = createVisitor(site.app, address)
    await stranger.get('/sign-in')
    return flood(() => stranger.post('/sign-in'), 110)
  }
  expect(await signInsFrom('198.51.100.1')).toBe(100)
  expect(await signInsFrom('198.51.100.1')).toBe(0)
  expect(await signInsFrom('198.51.100.2')).toBe(100)
  expect(await signInsFrom('2001:db8:1:2::3')).toBe(100)
  expect(await signInsFrom('2001:db8:1:2:ffff::4')).toBe(0)
  expect(await signInsFrom('2001:db8:1:3::4')).toBe(100)
})

test('strangers behind a proxy of this machine have limits of their own, and others cannot choose their address', async () => {
  const proxied = await openTestSite({ sample: false, isLimited: true, origin: 'https://feed.example.org' })
  const joinsOf = (address: string, remoteAddress: string): Promise<number> =>
    flood(() => {
      const headers = { host: 'feed.example.org', 'x-forwarded-for': address }
      return proxied.app.inject({ method: 'POST', url: '/join', headers, remoteAddress })
    }, 20)
  expect(await joinsOf('198.51.100.1', '127.0.0.1')).toBe(5)
  expect(await joinsOf('198.51.100.2', '127.0.0.1')).toBe(5)
  expect(await joinsOf('198.51.100.3', '203.0.113.1')).toBe(5)
  expect(await joinsOf('198.51.100.4', '203.0.113.1')).toBe(0)
  await proxied.close()
})

test('a name with white space and more text behind it counts as the same name for a guesser', async () => {
  const guess = async (padding: string): Promise<number> => {
    const stranger = createVisitor(site.app, '198.51.100.7')
    await stranger.get('/sign-in')
    const name = `guessed${padding.padEnd(300)}x`
    return (await stranger.post('/sign-in', { name, password: 'wrong' })).statusCode
  }
  const statuses: number[] = []
  for (let i = 0; i < 12; i++) {
    vi.setSystemTime(at + i * 10_000)
    statuses.push(await guess('\t'.repeat(i)))
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 422), 429, 429])
})

test('guesses by the name and by the address of a person count together, and tell nothing of the address', async () => {
  const person = createVisitor(site.app, '198.51.100.20')
  await person.get('/join')
  const password = PASSWORD
  const address = 'ann-private@example.org'
  const joined = await person.post('/join', { name: 'ann-guessed', full_name: 'Ann', address, password })
  expect(joined.statusCode).toBe(303)
  const stranger = createVisitor(site.app, '198.51.100.21')
  await stranger.get('/sign-in')
  let tries = 0
  let body = ''
  const signIn = async (name: string, guess: string): Promise<number> => {
    vi.setSystemTime(at + ++tries * 10_000)
    const reply = await stranger.post('/sign-in', { name, password: guess })
    body = textOf(reply.body)
    return reply.statusCode
  }
  for (let i = 0; i < 10; i++) expect(await signIn('ann-guessed', 'wrong password')).toBe(422)
  expect(await signIn('ann-guessed', password)).toBe(429)
  expect(body).toContain(
    'There were too many tries with a password, by you or by others. Try again in 9 minutes.',
  )
  expect(await signIn('somebody@example.org', password)).toBe(422)
  expect(await signIn(address, password)).toBe(422)
  expect(body).toContain('After ten tries in ten minutes, the right password is refused, too.')
  vi.setSystemTime((at += 11 * MINUTE))
  tries = 0
  expect(await signIn(address, password)).toBe(303)
})

test('strangers who use up the tries of a person do not keep the person out of a browser of an earlier sign-in', async () => {
  const ann = await signedOut('ann-kept', '198.51.100.40')
  const bob = await signedOut('bob-kept', '198.51.100.41')
  const signIn = async (visitor: Visitor, name: string, guess: string): Promise<number> => {
    vi.setSystemTime((at += 1_000))
    await visitor.get('/sign-in')
    return (await visitor.post('/sign-in', { name, password: guess })).statusCode
  }
  for (let i = 0; i < 10; i++) {
    const stranger = createVisitor(site.app, `203.0.113.${i}`)
    // An empty password counts too, and takes no time.
    for (let guess = 0; guess < 10; guess++) expect(await signIn(stranger, 'ann-kept', '')).toBe(422)
  }
  expect(await signIn(createVisitor(site.app), 'ann-kept', PASSWORD)).toBe(429)
  expect(await signIn(bob, 'ann-kept', PASSWORD)).toBe(429)
  expect(await signIn(ann, 'ann-kept', PASSWORD)).toBe(303)
  await ann.post('/sign-out')

  // Its own count holds for guesses in this browser.
  for (let guess = 0; guess < 9; guess++) {
    vi.setSystemTime((at += 10_000))
    expect(await signIn(ann, 'ann-kept', 'wrong password')).toBe(429)
  }
  expect(await signIn(ann, 'ann-kept', PASSWORD)).toBe(429)
  vi.setSystemTime((at += 11 * MINUTE))
  expect(await signIn(ann, 'ann-kept', PASSWORD)).toBe(303)
})

test('guesses of strangers leave the settings of a signed-in person open, and guesses in a session close those of the session', async () => {
  const password = PASSWORD
  const person = createVisitor(site.app, '198.51.100.30')
  await person.get('/join')
  await person.post('/join', { name: 'ann-besieged', full_name: 'Ann', password })
  const stranger = createVisitor(site.app, '198.51.100.30')
  await stranger.get('/sign-in')
  for (let i = 0; i < 10; i++) {
    vi.setSystemTime((at += 10_000))
    await stranger.post('/sign-in', { name: 'ann-besieged', password: 'wrong password' })
  }
  await person.get('/settings')
  const guess = async (current: string): Promise<number> => {
    vi.setSystemTime((at += 5_000))
    const fields = { address: 'ann-besieged@example.org', password: current }
    return (await person.post('/settings/address', fields)).statusCode
  }
  expect(await guess(password)).toBe(303)
  await person.get('/settings')
  for (let i = 0; i < 9; i++) expect(await guess('wrong password')).toBe(422)
  expect(await guess(password)).toBe(429)
})

test('a person who has just joined does not begin a new count of joining', async () => {
  const visitor = createVisitor(site.app, '198.51.100.8')
  await visitor.get('/join')
  let joined = 0
  const join = async (): ReturnType<Visitor['post']> => {
    const fields = { name: `crowd-${++joined}`, full_name: 'Crowd', password: PASSWORD }
    const reply = await visitor.post('/join', fields)
    await visitor.get('/join')
    return reply
  }
  expect(await flood(join, 10)).toBe(5)
})

async function signInBy(visitor: Visitor, name: string, password = PASSWORD): Promise<number> {
  await visitor.get('/sign-in')
  return (await visitor.post('/sign-in', { name, password })).statusCode
}

/** Guesses wrongly at so many names, by empty passwords: they count, and take no time. */
async function guessAtNames(count: number, address: string): Promise<number[]> {
  const stranger = createVisitor(site.app, address)
  const statuses: number[] = []
  for (let i = 0; i < count; i++) statuses.push(await signInBy(stranger, `somebody-${i}`, ''))
  return statuses
}

test('wrong guesses of a stranger, and sign-ins of others, keep nobody of the same address out', async () => {
  const office = '198.51.100.60'
  await signedOut('ann-office', '198.51.100.61')
  const tries = Array.from({ length: 30 }, () => 422)
  expect(await guessAtNames(30, office)).toEqual(tries)
  for (let i = 0; i < 30; i++) expect(await signInBy(createVisitor(site.app, office), 'mira')).toBe(303)
  expect(await signInBy(createVisitor(site.app, office), 'ann-office')).toBe(303)
})

test('an address with 100 wrong guesses in ten minutes signs nobody in, except in browsers of earlier sign-ins, and sign-ins are no guesses', async () => {
  const office = '198.51.100.70'
  const ann = await signedOut('ann-busy', office)
  await signedOut('bob-busy', '198.51.100.71')
  expect(await guessAtNames(50, office)).not.toContain(429)
  vi.setSystemTime(at + MINUTE)
  for (let i = 0; i < 5; i++) expect(await signInBy(createVisitor(site.app, office), 'bob-busy')).toBe(303)
  expect(await guessAtNames(50, office)).not.toContain(429)
  vi.setSystemTime(at + 2 * MINUTE)
  const stranger = createVisitor(site.app, office)
  expect(await signInBy(stranger, 'bob-busy')).toBe(429)
  expect(await signInBy(stranger, 'mira')).toBe(303)
  expect(await signInBy(ann, 'bob-busy')).toBe(429)
  expect(await signInBy(ann, 'ann-busy')).toBe(303)
  expect(await signInBy(createVisitor(site.app, '198.51.100.71'), 'bob-busy')).toBe(303)
  vi.setSystemTime(at + 10 * MINUTE)
  expect(await signInBy(stranger, 'bob-busy')).toBe(303)
})

test('a browser of an earlier sign-in has a count of forms of its own', async () => {
  const office = '198.51.100.80'
  const ann = await signedOut('ann-counted', office)
  const stranger = createVisitor(site.app, office)
  await stranger.get('/sign-in')
  expect(await flood(() => stranger.post('/sign-in', {}), 110)).toBe(100)
  await ann.get('/sign-in')
  expect(await flood(() => ann.post('/sign-in', {}), 110)).toBe(10)
})

test('comments, likes, deletions, imports and posts have separate limits', async () => {
  const mira = await signedIn('mira')
  const path = (await mira.post('/post', { title: 'Under fire' })).headers.location as string
  expect(await flood(() => mira.post(`${path}/comments`, { text: 'x' }))).toBe(20)
  expect(await flood(() => mira.post(`${path}/like`))).toBe(60)
  expect(await flood(() => mira.post('/comments/01234567-89ab-7cde-8f01-23456789abcd/delete'))).toBe(30)
  expect(await flood(() => mira.upload('/import', []))).toBe(5)
  expect((await mira.post('/post', { title: 'Not counted among them' })).statusCode).toBe(303)
  expect((await mira.post('/sign-out')).statusCode).toBe(303)
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
  const large = { name: 'big.xml', text: 'x'.repeat(7 * 1024 * 1024) }
  // If the site read them, it would refuse them as too large together.
  expect(
    (
      await mira.upload(
        '/import',
        Array.from({ length: 5 }, () => large),
      )
    ).statusCode,
  ).toBe(429)
})
