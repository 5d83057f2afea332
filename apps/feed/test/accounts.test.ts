import { sign } from '@fastify/cookie'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashCheaply } from './cheap-hashes.ts'
import { createVisitor, openTestSite, SECRET, textOf, type TestSite, type Visitor } from './support.ts'

hashCheaply()
let site: TestSite
beforeAll(async () => {
  site = await openTestSite()
})
afterAll(() => site.close())

const PASSWORD = 'four words in order'

async function joined(name: string, more: Record<string, string> = {}): Promise<Visitor> {
  const visitor = createVisitor(site.app)
  await visitor.get('/join')
  const fields = { name, full_name: `${name} Example`, address: '', password: PASSWORD, ...more }
  expect((await visitor.post('/join', fields)).statusCode).toBe(303)
  return visitor
}

async function signIn(
  name: string,
  password = PASSWORD,
  visitor = createVisitor(site.app),
): Promise<LightMyRequestResponse> {
  await visitor.get('/sign-in')
  return visitor.post('/sign-in', { name, password })
}

/** Returns whether a request with these cookies is that of a signed-in person. */
async function isSignedIn(cookie: string): Promise<boolean> {
  return (await site.app.inject({ url: '/people', headers: { cookie } })).body.includes('Signed in as')
}

const cookiesOf = ({ headers }: LightMyRequestResponse): string[] =>
  [headers['set-cookie'] ?? []].flat().filter((set) => set.startsWith('looseleaf_session='))

test('a visitor joins, is signed in, and signs in again by name or address', async () => {
  const visitor = await joined('Walnut', { address: 'Walnut@Example.org' })
  expect(textOf((await visitor.get('/people/walnut')).body)).toContain('Walnut Example')
  await visitor.post('/sign-out')
  expect(await isSignedIn(visitor.cookie())).toBe(false)
  for (const name of ['walnut', ' WALNUT', 'walnut@example.org']) {
    const again = createVisitor(site.app)
    expect((await signIn(name, PASSWORD, again)).statusCode).toBe(303)
    expect(await isSignedIn(again.cookie())).toBe(true)
  }
})

test.each([
  [{ name: 'x' }, 'A name has 2 to 30 characters.'],
  [{ name: 'Mira' }, 'Somebody has this name already.'],
  [{ name: 'admin' }, 'This name is reserved.'],
  [{ full_name: ' ' }, 'Type the name that people call you.'],
  [{ full_name: '\u3164\u200d' }, 'Type the name that people call you.'],
  [{ address: 'nowhere' }, 'This is no e-mail address'],
  [{ password: 'too short' }, 'A password has at least 10 characters.'],
])(
  'joining with %j is refused with a reason, and the form keeps all but the password',
  async (wrong, reason) => {
    const visitor = createVisitor(site.app)
    await visitor.get('/join')
    const fields = { name: 'hazel', full_name: 'Hazel', address: '', password: PASSWORD, ...wrong }
    const { statusCode, body } = await visitor.post('/join', fields)
    expect(statusCode).toBe(422)
    expect(textOf(body)).toContain(reason)
    expect(body).toContain(`value="${fields.full_name}"`)
    expect(body).not.toContain(`value="${fields.password}"`)
  },
)

test('a wrong password and an unknown name get the same answer', async () => {
  await joined('almond')
  const wrong = await signIn('almond', 'some other words')
  const unknown = await signIn('nobody-here', 'some other words')
  const answers = [wrong, unknown].map(({ statusCode, body }) => [
    statusCode,
    textOf(body).replace(/This page made.*/, ''),
  ])
  expect(answers[0]).toEqual(answers[1])
  expect(wrong.statusCode).toBe(422)
  expect(wrong.body).toContain('There is no such name with this password.')
})

test('twenty wrong passwords block the guesser, and neither the person elsewhere nor another name', async () => {
  const limited = await openTestSite({ sample: false, isLimited: true })
  try {
    const person = createVisitor(limited.app, '198.51.100.7')
    await person.get('/join')
    await person.post('/join', { name: 'filbert', full_name: 'Filbert', password: PASSWORD })
    const guess = async (name: string, address: string, password: string): Promise<number> => {
      const visitor = createVisitor(limited.app, address)
      await visitor.get('/sign-in')
      return (await visitor.post('/sign-in', { name, password })).statusCode
    }
    const codes: number[] = []
    for (let i = 0; i < 20; i++) codes.push(await guess('filbert', '198.51.100.66', `wrong words ${i}`))
    expect(codes.filter((code) => code === 422)).toHaveLength(10)
    expect(codes.slice(10)).toEqual(Array.from({ length: 10 }, () => 429))
    expect(await guess('filbert', '198.51.100.66', PASSWORD)).toBe(429)
    expect(await guess('filbert', '198.51.100.8', PASSWORD)).toBe(303)
  } finally {
    await limited.close()
  }
})

test('a guesser with many addresses is blocked by the name', async () => {
  const limited = await openTestSite({ sample: false, isLimited: true })
  try {
    let refused = 0
    for (let i = 0; i < 104; i++) {
      const visitor = createVisitor(limited.app, `198.51.100.${i}`)
      await visitor.get('/sign-in')
      const { statusCode } = await visitor.post('/sign-in', { name: 'filbert', password: '' })
      if (statusCode === 429) refused++
    }
    expect(refused).toBe(4)
  } finally {
    await limited.close()
  }
})

test('signing in changes the key of the session, and ends the previous one', async () => {
  const visitor = await joined('pecan')
  const before = visitor.cookie()
  expect((await signIn('pecan', PASSWORD, visitor)).statusCode).toBe(303)
  expect(visitor.cookie()).not.toBe(before)
  expect([await isSignedIn(before), await isSignedIn(visitor.cookie())]).toEqual([false, true])
})

test('a stolen cookie is worthless after a sign-out, and after a change of the password elsewhere', async () => {
  const visitor = await joined('cashew')
  const [stolen, other] = [createVisitor(site.app), createVisitor(site.app)]
  await signIn('cashew', PASSWORD, stolen)
  await signIn('cashew', PASSWORD, other)
  const copy = other.cookie()
  await other.get('/people')
  await other.post('/sign-out')
  expect(await isSignedIn(copy)).toBe(false)
  await visitor.get('/settings')
  const wrong = await visitor.post('/settings/password', {
    password: 'wrong words',
    next: 'five other words',
  })
  expect([wrong.statusCode, await isSignedIn(stolen.cookie())]).toEqual([422, true])
  expect(textOf(wrong.body)).toContain('This is not your password.')
  const changed = await visitor.post('/settings/password', { password: PASSWORD, next: 'five other words' })
  expect(changed.headers.location).toBe('/settings?done=password#password')
  expect([await isSignedIn(stolen.cookie()), await isSignedIn(visitor.cookie())]).toEqual([false, true])
  expect((await signIn('cashew')).statusCode).toBe(422)
  expect((await signIn('cashew', 'five other words')).statusCode).toBe(303)
})

test('a forged or foreign session id signs no one in', async () => {
  const visitor = await joined('chestnut')
  const value = decodeURIComponent(/looseleaf_session=([^;]+)/.exec(visitor.cookie())![1]!)
  const [nonce, personId, signature] = value.split('.') as [string, string, string]
  const mira = (await site.site.data.people.byName.first({ name: 'mira' }))!.id
  const signed = (text: string): string => sign(text, SECRET)
  for (const forged of [
    `${nonce}.${mira}.${signature}`,
    `${nonce}.${personId}.${'A'.repeat(43)}`,
    sign(`${nonce}.${personId}`, 'another secret of thirty-two bytes!'),
    // Even with the secret, a key opens only the session that has begun with it.
    signed(`${nonce}.${mira}`),
    signed(`${'n'.repeat(24)}.${personId}`),
    signed(`.${personId}`),
    signed('..'),
    '%00',
    'x'.repeat(4000),
  ])
    expect(await isSignedIn(`looseleaf_session=${encodeURIComponent(forged)}`)).toBe(false)
  expect(await isSignedIn(`looseleaf_session=${encodeURIComponent(signed(`${nonce}.${personId}`))}`)).toBe(
    true,
  )
})

test('a deleted member is signed out everywhere, and the entries stay by a former member', async () => {
  const visitor = await joined('macadamia')
  const other = createVisitor(site.app)
  await signIn('macadamia', PASSWORD, other)
  await visitor.get('/post')
  const entry = (await visitor.post('/post', { title: 'Left behind' })).headers.location as string
  await visitor.get('/settings')
  expect((await visitor.post('/settings/delete', { password: 'wrong words' })).statusCode).toBe(422)
  expect((await visitor.post('/settings/delete', { password: PASSWORD })).headers.location).toBe('/')
  expect(await isSignedIn(visitor.cookie())).toBe(false)
  expect(await isSignedIn(other.cookie())).toBe(false)
  expect((await other.get('/people/macadamia')).statusCode).toBe(404)
  expect(textOf((await other.get(entry)).body)).toContain('A former member')
  expect((await signIn('macadamia')).statusCode).toBe(422)
})

test('a person sees the signed-in browsers, and signs another one out', async () => {
  const visitor = await joined('pistachio')
  const other = createVisitor(site.app)
  await signIn('pistachio', PASSWORD, other)
  const { body } = await visitor.get('/settings')
  const ends = [...body.matchAll(/action="(\/settings\/sessions\/[^"]+\/end)"/g)].map(([, action]) => action!)
  expect(ends).toHaveLength(1)
  expect((await visitor.post(ends[0]!)).statusCode).toBe(303)
  expect([await isSignedIn(other.cookie()), await isSignedIn(visitor.cookie())]).toEqual([false, true])
  const stranger = await joined('brazil-nut')
  await stranger.get('/settings')
  expect((await stranger.post(ends[0]!)).statusCode).toBe(404)
})

test('a session in use is renewed once a day, and its cookie with it', async () => {
  const visitor = await joined('coconut')
  const { sessions, people } = site.site.data
  const person = (await people.byName.first({ name: 'coconut' }))!
  const [session] = await sessions.byPerson.all({ person_id: person.id })
  expect(cookiesOf(await visitor.get('/people'))).toEqual([])
  const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1000)
  await sessions.update(session!.id, { seen: yesterday })
  expect(cookiesOf(await visitor.get('/assets/icon.svg'))).toEqual([])
  expect(cookiesOf(await visitor.get('/people'))).toHaveLength(1)
  expect((await sessions.get(session!.id))!.seen.getTime()).toBeGreaterThan(yesterday.getTime())
  expect(cookiesOf(await visitor.get('/people'))).toEqual([])
  expect(await isSignedIn(visitor.cookie())).toBe(true)
})

test('a sample person signs in without a password, and has no account to change or delete', async () => {
  const visitor = createVisitor(site.app)
  expect((await signIn('mira', '', visitor)).statusCode).toBe(303)
  const page = textOf((await visitor.get('/settings')).body)
  expect(page).toContain('every visitor may sign in as Mira Saltmarsh')
  for (const path of ['/settings/password', '/settings/address', '/settings/delete'])
    expect((await visitor.post(path, { password: '', next: 'four words in order' })).statusCode).toBe(403)
  await joined('sapucaia')
  expect((await signIn('sapucaia', '')).statusCode).toBe(422)
})

test('the cookie of a site with an https origin is sent over https only, also by a proxy', async () => {
  const secure = await openTestSite({ sample: false, origin: 'https://feed.example.org' })
  try {
    const mira = { name: 'mira', full_name: 'Mira', bio: '', hue: 1, joined: new Date(), sample: true }
    await secure.site.data.people.insert(mira)
    const headers = { host: 'feed.example.org' }
    const page = await secure.app.inject({ url: '/sign-in', headers })
    const token = /name="token" value="([^"]+)"/.exec(page.body)![1]!
    const cookie = [page.headers['set-cookie'] ?? []]
      .flat()
      .map((set) => set.split(';')[0])
      .join('; ')
    const reply = await secure.app.inject({
      method: 'POST',
      url: '/sign-in',
      headers: { ...headers, cookie, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ token, name: 'mira' }).toString(),
    })
    expect(reply.statusCode).toBe(303)
    expect(cookiesOf(reply)).toEqual([expect.stringMatching(/; HttpOnly; Secure; SameSite=Lax$/)])
  } finally {
    await secure.close()
  }
})

test('a person follows and unfollows by the buttons of a page', async () => {
  const visitor = await joined('cobnut')
  const mira = (await visitor.get('/people/mira')).body
  const channel = /name="channel" value="([^"]+)"/.exec(mira)![1]!
  for (let i = 0; i < 2; i++) {
    const reply = await visitor.post('/follow', { channel, back: '/people/mira' })
    expect([reply.statusCode, reply.headers.location]).toEqual([303, '/people/mira'])
  }
  expect((await visitor.get('/people/mira')).body).toContain('Yes, unfollow')
  expect(textOf((await visitor.get('/following')).body)).toContain('Mira Saltmarsh')
  await visitor.post('/unfollow', { channel, remove: 'yes', back: '/following' })
  expect(textOf((await visitor.get('/following')).body)).toContain('You follow nobody yet')
  for (const wrong of ['', 'x', site.site.store.newId()])
    expect((await visitor.post('/follow', { channel: wrong })).statusCode).toBe(404)
  expect((await createVisitor(site.app).get('/following')).headers.location).toBe(
    '/sign-in?back=%2Ffollowing',
  )
})

test('a person adds services by address and on the page of a source, and removes them', async () => {
  const visitor = await joined('acorn')
  await visitor.get('/settings/services')
  expect((await visitor.post('/settings/services', { address: 'no address' })).statusCode).toBe(422)
  expect((await visitor.post('/settings/services', { address: 'nuts.example.org/feed' })).statusCode).toBe(
    303,
  )
  const { body } = await visitor.get('/settings/services')
  expect(textOf(body)).toContain('nuts.example.org')
  const source = /href="(\/sources\/[^"]+)"/.exec(body.slice(body.indexOf('class="rows"')))![1]!
  expect((await visitor.get(source)).body).toContain('Stop publishing through this source')
  await visitor.post(`${source}/unpublish`, { back: source })
  expect((await visitor.get(source)).body).toContain('Publish through this source')
  expect((await visitor.post(`${source}/publish`, { back: source })).headers.location).toBe(source)
  expect((await visitor.post(`/sources/${site.site.store.newId()}/publish`)).statusCode).toBe(422)
})
