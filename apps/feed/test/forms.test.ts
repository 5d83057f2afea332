import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { likeId } from '../src/kinds/ids.ts'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite({ offered: true })
})
afterAll(() => site.close())

async function signedIn(name: string): Promise<Visitor> {
  const visitor = createVisitor(site.app)
  await visitor.signIn(name)
  return visitor
}

async function post(visitor: Visitor, title: string, link = ''): Promise<string> {
  const reply = await visitor.post('/post', { title, link })
  expect(reply.statusCode).toBe(303)
  return reply.headers.location as string
}

test('the last page of few comments is the first one, and a page after deleted comments says that there are none', async () => {
  const visitor = await signedIn('mira')
  const path = await post(visitor, 'Say little')
  const none = textOf((await visitor.get(`${path}?before=end`)).body)
  expect(none).toContain('No comments yet')
  expect(none).not.toContain('later comments')
  await visitor.post(`${path}/comments`, { text: 'One' })
  const few = textOf((await visitor.get(`${path}?before=end`)).body)
  expect(few).toContain('One comment')
  expect(few).not.toMatch(/later comments|last comments/)
  const toField = '<a href="#comment">Comment</a>'
  expect((await visitor.get(path)).body).not.toContain(toField)

  const { data, store } = site.site
  const entry_id = path.split('/').at(-1) as string
  const more = await data.comments.insertMany(
    Array.from({ length: 101 }, (_, i) => ({
      entry_id,
      person_id: store.newId(),
      text: `Later ${i}`,
      commented: new Date(Date.now() + 60_000 + i),
    })),
  )
  const { body } = await visitor.get(path)
  // The field is far below.
  expect(body).toContain(toField)
  const next = /rel="next" href="([^"]+)"/.exec(body)?.[1] as string
  expect(textOf((await visitor.get(next)).body)).toContain('This page shows later comments.')
  await data.comments.deleteMany(more.slice(90).map(({ id }) => id))
  const empty = textOf((await visitor.get(next)).body)
  expect(empty).toContain('There are no later comments.')
  expect(empty).toContain('Back to the first comments')
})

test('a page of a list after its end says so, and does not deny what is before', async () => {
  const visitor = await signedIn('mira')
  const { data } = site.site
  const tag = 'shortened'
  const at = Date.now()
  const ids: string[] = []
  for (let i = 0; i < 21; i++) {
    const facts = { title: `Tagged ${i}`, tags: [tag], published: new Date(at + i) }
    const person_id = data.entries.store.newId()
    ids.push((await data.entries.insert(freshEntry({ ...facts, person_id }, new Date(at + i)))).id)
  }
  const next = /rel="next" href="([^"]+)"/.exec((await visitor.get(`/tags/${tag}`)).body)?.[1] as string
  await data.entries.delete(ids[0] as string)
  const text = textOf((await visitor.get(next.replaceAll('&amp;', '&'))).body)
  expect(text).toContain('The list ends before this page.')
  expect(text).not.toContain('No entry has this tag')
  for (const path of ['/everything', '/sources', '/people/mira']) {
    const after = encodeURIComponent(new URLSearchParams(next.split('?')[1]).get('after') ?? '')
    expect((await visitor.get(`${path}?after=${after}`)).statusCode).toBe(400)
  }
})

test('signing in accepts a name in any case, and redirects only within the site', async () => {
  const visitor = createVisitor(site.app)
  await visitor.get('/sign-in?back=/people')
  const reply = await visitor.post('/sign-in', { name: ' Mira ', back: '/people?after=x#y' })
  expect([reply.statusCode, reply.headers.location]).toEqual([303, '/people?after=x#y'])
  expect([reply.headers['set-cookie']].flat().filter((set) => set?.startsWith('looseleaf_session'))).toEqual([
    expect.stringMatching(/^looseleaf_session=[^;]{60,}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/),
  ])
  expect((await visitor.get('/')).body).toContain('Signed in as')
  for (const back of ['//evil.example', '/\\evil.example', 'https://evil.example', '/\t/evil.example', '']) {
    await visitor.get('/sign-in')
    expect((await visitor.post('/sign-in', { name: 'mira', back })).headers.location).toMatch(/^\/(?![/\\])/)
  }
})

test('an unknown name is an error, and the field keeps it', async () => {
  const visitor = createVisitor(site.app)
  await visitor.get('/sign-in')
  const reply = await visitor.post('/sign-in', { name: '<nobody>' })
  expect(reply.statusCode).toBe(422)
  expect(reply.body).toContain('value="&lt;nobody>"')
  expect(reply.body).toContain('aria-invalid="true"')
})

test('signing out ends the session, so that a kept cookie is worthless', async () => {
  const visitor = await signedIn('tomas')
  const [cookie, token] = [visitor.cookie(), visitor.token()]
  expect((await site.app.inject({ url: '/', headers: { cookie } })).body).toContain('Signed in as')
  expect((await visitor.post('/sign-out')).statusCode).toBe(303)
  expect((await visitor.get('/')).body).not.toContain('Signed in as')
  expect((await site.app.inject({ url: '/', headers: { cookie } })).body).not.toContain('Signed in as')
  const payload = new URLSearchParams({ token, title: 'From an old cookie' }).toString()
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const reply = await site.app.inject({ method: 'POST', url: '/post', headers, payload })
  expect(reply.statusCode).toBe(401)
  expect((await visitor.get('/people/tomas')).body).not.toContain('From an old cookie')
})

test('signing in as another person ends the previous session', async () => {
  const visitor = await signedIn('tomas')
  const cookie = visitor.cookie()
  await visitor.signIn('mira')
  expect((await visitor.get('/')).body).toContain('Mira Saltmarsh')
  expect((await site.app.inject({ url: '/', headers: { cookie } })).body).not.toContain('Signed in as')
})

test('signing out in one browser keeps the same person signed in in another', async () => {
  const [one, two] = [await signedIn('tomas'), await signedIn('tomas')]
  await one.post('/sign-out')
  expect((await two.get('/')).body).toContain('Signed in as')
})

test('a message is posted, found on the page of everything, and escaped', async () => {
  const visitor = await signedIn('mira')
  const path = await post(visitor, 'Ginger <b>snaps</b> & "co"', 'example.org/ginger?utm_source=x')
  const { body } = await visitor.get(path)
  expect(body).toContain('Ginger &lt;b>snaps&lt;/b> &amp; &quot;co&quot;')
  expect(body).toContain('href="https://example.org/ginger"')
  const everything = await visitor.get('/everything')
  expect(everything.body).toContain('Ginger &lt;b>snaps')
  expect((await visitor.get('/people/mira')).body).toContain('Ginger &lt;b>snaps')
})

test.each([
  [{ title: '  \n ', link: '' }, 'Write a few words first.'],
  [{ title: '\u2060\u3164 \u00ad', link: '' }, 'Write a few words first.'],
  [{ title: 'x'.repeat(501), link: '' }, 'A message has at most 500 characters; this one has 501.'],
  [{ title: 'keep these words', link: 'javascript:alert(1)' }, 'The link has to be the address of a page'],
  [{ title: 'keep these words', link: 'not a link' }, 'The link has to be the address of a page'],
])('an invalid message is an error, and its form keeps the text: %#', async (fields, message) => {
  const visitor = await signedIn('mira')
  const { statusCode, body } = await visitor.post('/post', fields)
  expect(statusCode).toBe(422)
  expect(textOf(body)).toContain(message)
  expect(body).toContain('role="alert"')
  expect(body).toContain(fields.title.trim())
  expect(body).toContain(fields.link)
})

test('a link that was shared before is shown on both entries', async () => {
  const mira = await signedIn('mira')
  const first = await post(mira, 'First with it', 'https://example.com/same')
  const tomas = await signedIn('tomas')
  const second = await post(tomas, 'Late to it', 'https://example.com/same?utm_medium=feed')
  expect(textOf((await mira.get(first)).body)).toMatch(/Also shared by ?Late to it/)
  expect(textOf((await mira.get(second)).body)).toMatch(/Also shared by ?First with it/)
})

test('a comment is added, shown with its lines, and deleted only by its writer', async () => {
  const mira = await signedIn('mira')
  const path = await post(mira, 'Say something')
  const tomas = await signedIn('tomas')
  const reply = await tomas.post(`${path}/comments`, { text: 'One\r\ntwo <i>' })
  expect(reply.statusCode).toBe(303)
  const id = /#c-(.+)$/.exec(reply.headers.location as string)?.[1] as string
  const page = await tomas.get(path)
  expect(page.body).toContain('One\ntwo &lt;i>')
  expect(page.body).toContain(`/comments/${id}/delete`)
  expect((await mira.get(path)).body).not.toContain(`/comments/${id}/delete`)
  expect((await mira.post(`/comments/${id}/delete`)).statusCode).toBe(403)
  expect((await tomas.post(`/comments/${id}/delete`)).headers.location).toBe(`${path}#comments`)
  expect((await tomas.get(path)).body).not.toContain('One\ntwo')
  expect((await tomas.post(`/comments/${id}/delete`)).statusCode).toBe(403)
})

test('posting comment 101 redirects to the page that shows it', async () => {
  const visitor = await signedIn('mira')
  const path = await post(visitor, 'Say a lot')
  const entry_id = path.split('/').at(-1) as string
  const person_id = site.site.store.newId()
  await site.site.data.comments.insertMany(
    Array.from({ length: 100 }, (_, i) => ({
      entry_id,
      person_id,
      text: `Comment ${i}`,
      commented: new Date(Date.now() - 60_000 + i),
    })),
  )
  await site.site.data.entries.update(entry_id, { comments: 100 })
  const reply = await visitor.post(`${path}/comments`, { text: 'And one more' })
  const [place, anchor] = (reply.headers.location as string).split('#') as [string, string]
  expect((await visitor.get(path)).body).not.toContain('And one more')
  const { body } = await visitor.get(place)
  expect(body).toContain('And one more')
  expect(body).toContain(`id="${anchor}"`)
  // Forms on this page redirect back to it.
  expect(textOf(body)).toContain('This page shows later comments.')
  expect(textOf((await visitor.get(path)).body)).not.toContain('This page shows later comments.')
  const acts = body.matchAll(/action="([^"]+\/(?:like|delete))"(.*?)<\/(?:form|button)>/gs)
  const backs = Array.from(acts, ([, action, rest = '']) => [
    action,
    /name="back" value="([^"]+)"/.exec(rest)?.[1],
  ])
  const id = anchor.replace('c-', '')
  expect(backs).toEqual([
    [`${path}/like`, place],
    [`${path}/delete`, undefined],
    [`/comments/${id}/delete`, `${place}#comments`],
  ])
  await visitor.get(place)
  const deleted = await visitor.post(`/comments/${id}/delete`, { back: `${place}#comments` })
  expect(deleted.headers.location).toBe(`${place}#comments`)
})

test('text from right to left keeps its direction beside other text', async () => {
  const visitor = await signedIn('mira')
  const path = await post(visitor, 'שלום עולם')
  await visitor.post(`${path}/comments`, { text: 'مرحبا!' })
  const { body } = await visitor.get(path)
  expect(body).toMatch(/<h1 class="entry-title" dir="auto"[^>]*>שלום עולם/)
  expect(body).toContain('<bdi class="comment-text">مرحبا!</bdi>')
})

test.each([
  ['', 'Write a few words first.'],
  ['y'.repeat(2001), 'A comment has at most 2000 characters; this one has 2001.'],
])('an invalid comment is an error, and its form keeps the text: %#', async (text, message) => {
  const visitor = await signedIn('mira')
  const path = await post(visitor, `For comments of ${text.length}`)
  const { statusCode, body } = await visitor.post(`${path}/comments`, { text })
  expect(statusCode).toBe(422)
  expect(textOf(body)).toContain(message)
  expect(textOf(body)).toContain('Nothing was saved: please correct the field marked below.')
  expect(body).toContain(`${text}</textarea>`)
  // Reloading the address of that page redirects to the entry.
  const again = await visitor.get(`${path}/comments`)
  expect([again.statusCode, again.headers.location]).toEqual([303, `${path}#comments`])
})

test('a like counts once, and unliking removes it', async () => {
  const mira = await signedIn('mira')
  const path = await post(mira, 'Like me twice')
  const tomas = await signedIn('tomas')
  for (let i = 0; i < 2; i++) {
    const reply = await tomas.post(`${path}/like`, { back: '/people/mira#e-1' })
    expect([reply.statusCode, reply.headers.location]).toEqual([303, '/people/mira#e-1'])
  }
  expect(textOf((await mira.get(path)).body)).toContain('Tomás Quill likes this')
  expect(textOf((await tomas.get(path)).body)).toContain('You like this')
  expect(textOf((await tomas.get('/people/tomas/likes')).body)).toContain('Like me twice')
  await tomas.post(`${path}/unlike`, { back: path })
  await tomas.post(`${path}/unlike`, { back: path })
  expect(textOf((await tomas.get(path)).body)).not.toContain('like this')
  await tomas.post(`${path}/like`, { back: path })
  expect(textOf((await tomas.get(path)).body)).toContain('You like this')
})

test('idea 5: only its publisher removes an entry, and the comments of others stay on its page', async () => {
  const mira = await signedIn('mira')
  const path = await post(mira, 'Not for long')
  const tomas = await signedIn('tomas')
  await tomas.post(`${path}/comments`, { text: 'A pity' })
  await tomas.post(`${path}/like`, { back: path })
  expect((await tomas.post(`${path}/delete`)).statusCode).toBe(403)
  expect((await mira.post(`${path}/delete`)).headers.location).toBe('/people/mira')
  const page = await mira.get(path)
  expect(page.statusCode).toBe(410)
  expect(textOf(page.body)).toContain('The author removed this entry')
  expect(textOf(page.body)).toContain('A pity')
  for (const list of [
    '/',
    '/everything',
    '/people/mira',
    '/feed.atom',
    '/people/mira/feed.atom',
    '/people/tomas/likes',
  ])
    expect((await tomas.get(list)).body).not.toContain('Not for long')
  await mira.get('/post')
  for (const action of ['delete', 'like', 'comments', 'edit']) {
    const reply = await mira.post(`${path}/${action}`, { text: 'x', title: 'x' })
    expect([action, reply.statusCode]).toEqual([action, 410])
    expect(textOf(reply.body)).toContain('The author removed this entry')
  }
})

test('a person edits an own message, which says so, and no other entry', async () => {
  const mira = await signedIn('mira')
  const path = await post(mira, 'Frist')
  expect((await mira.get(path)).body).toContain(`href="${path}/edit"`)
  await mira.get(`${path}/edit`)
  expect((await mira.post(`${path}/edit`, { title: '' })).statusCode).toBe(422)
  const edit = { title: 'First', link: 'example.org/first', ...edition(await mira.get(`${path}/edit`)) }
  expect((await mira.post(`${path}/edit`, edit)).headers.location).toBe(path)
  const page = await mira.get(path)
  expect(textOf(page.body)).toMatch(/edited.*First/)
  expect(page.body).toContain('https://example.org/first')
  await mira.post(`${path}/edit`, { title: 'First', ...edition(await mira.get(`${path}/edit`)) })
  expect((await mira.get(path)).body).not.toContain('example.org/first')
  const tomas = await signedIn('tomas')
  expect((await tomas.get(`${path}/edit`)).statusCode).toBe(403)
  expect((await tomas.post(`${path}/edit`, edit)).statusCode).toBe(403)
})

/** Returns the field of an edit form that names the text on which the edit is based. */
function edition({ body }: LightMyRequestResponse): { readonly edition: string } {
  return { edition: /name="edition" value="([^"]*)"/.exec(body)?.[1] ?? '' }
}

test('an edit in a second tab is refused with both texts once the first tab has saved, and replaces it when it is sent again', async () => {
  const mira = await signedIn('mira')
  const path = await post(mira, 'A meeting at nine')
  const tab = edition(await mira.get(`${path}/edit`))
  const first = { title: 'A meeting at ten', ...tab }
  expect((await mira.post(`${path}/edit`, first)).headers.location).toBe(path)
  expect((await mira.post(`${path}/edit`, first)).headers.location).toBe(path)
  const second = { title: 'A meeting at nine in the hall', ...tab }
  const refused = await mira.post(`${path}/edit`, second)
  expect(refused.statusCode).toBe(409)
  expect(textOf(refused.body)).toContain('It reads now: “A meeting at ten”')
  expect(refused.body).toContain(`>${second.title}</textarea>`)
  expect(textOf((await mira.get(path)).body)).toContain(first.title)
  await mira.post(`${path}/edit`, { ...second, ...edition(refused) })
  expect(textOf((await mira.get(path)).body)).toContain(second.title)
})

test.each(['/post', '/sign-out', '/sign-in', '/import', '/entries/x/like', '/comments/x/delete'])(
  'a form to %s without a token, or with another session’s, changes nothing',
  async (path) => {
    const visitor = await signedIn('mira')
    expect((await visitor.post(path, { token: '' })).statusCode).toBe(403)
    const other = await signedIn('tomas')
    const theirs = /name="token" value="([^"]+)"/.exec((await other.get('/post')).body)?.[1] as string
    expect((await visitor.post(path, { token: theirs })).statusCode).toBe(403)
    expect((await createVisitor(site.app).post(path, { token: theirs })).statusCode).toBe(403)
  },
)

test('a form whose session is lost or has ended is refused with a link to sign in, and back to its page', async () => {
  const link = '<a class="button" href="/sign-in?back=%2Fpost">Sign in</a>'
  const noor = await signedIn('noor')
  await noor.get('/post')
  const form = { title: 'Never posted', token: noor.token() }
  const lost = await createVisitor(site.app).post('/post', form)
  expect([lost.statusCode, lost.body.includes(link)]).toEqual([403, true])
  const other = await (await signedIn('mira')).post('/post', form)
  expect([other.statusCode, other.body.includes('>Sign in</a>')]).toEqual([403, false])
  const { people, sessions } = site.site.data
  const person = await people.byName.first({ name: 'noor' })
  await sessions.byPerson.deleteWhere({ person_id: person!.id })
  const ended = await noor.post('/post', form)
  expect([ended.statusCode, ended.body.includes(link)]).toEqual([401, true])
})

test('a form from another site, by the headers of the browser, is refused', async () => {
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    const { statusCode } = await site.app.inject({ method: 'POST', url: '/sign-out', headers })
    expect(statusCode).toBe(403)
  }
})

test('a changed cookie signs no one in', async () => {
  const headers = {
    cookie: 'looseleaf_session=aaaaaaaaaaaaaaaaaaaaaaaa.01234567-89ab-7cde-8f01-23456789abcd.forged',
  }
  expect((await site.app.inject({ url: '/', headers })).body).not.toContain('Signed in as')
})

test('a visitor who is not signed in is redirected to sign in and cannot post', async () => {
  const visitor = createVisitor(site.app)
  expect((await visitor.get('/post')).headers.location).toBe('/sign-in?back=%2Fpost')
  await visitor.get('/sign-in')
  expect((await visitor.post('/post', { title: 'x' })).statusCode).toBe(401)
})

test('request bodies that are too large or of another type are refused', async () => {
  const visitor = await signedIn('mira')
  expect((await visitor.post('/post', { title: 'x'.repeat(70_000) })).statusCode).toBe(413)
  const json = { method: 'POST', url: '/post', payload: { title: 'x' } } as const
  expect((await site.app.inject(json)).statusCode).toBe(415)
  const xml = { ...json, headers: { 'content-type': 'text/xml' }, payload: '<a/>' }
  expect((await site.app.inject(xml)).statusCode).toBe(415)
})

test('signing in from a page that refused a form redirects to a page that exists', async () => {
  const mira = await signedIn('mira')
  const entry = await post(mira, 'Sign in from here')
  const visitor = createVisitor(site.app)
  const signInAfter = async (path: string, fields: Record<string, string>): Promise<string | undefined> => {
    const { statusCode, body } = await visitor.post(path, fields)
    expect(statusCode).toBeGreaterThanOrEqual(401)
    const back = /href="\/sign-in\?back=([^"]+)"/.exec(body)?.[1]
    return back === undefined ? undefined : decodeURIComponent(back)
  }
  const back = '/people/mira#e-1'
  expect(await signInAfter(`${entry}/like`, { back })).toBe(back)
  expect(await signInAfter(`${entry}/like`, { back: '//evil.example' })).toBe(entry)
  await visitor.get('/sign-in')
  // A valid form without a signed-in person.
  expect(await signInAfter(`${entry}/like`, { back })).toBe(back)
  expect(await signInAfter(`${entry}/comments?x=1`, { text: 'x' })).toBe(entry)
  expect(await signInAfter(`${entry}/delete`, {})).toBe(entry)
  expect(await signInAfter('/post', { title: 'x' })).toBe('/post')
  for (const path of ['/comments/x/delete', '/imports/x/undo', '/nothing'])
    expect(await signInAfter(path, {})).toBe('/')
})

test('signing in never redirects to the sign-in page', async () => {
  const visitor = createVisitor(site.app)
  for (const { body } of [
    await visitor.get('/sign-in'),
    await visitor.post('/sign-in', { name: 'nobody-here' }),
  ])
    expect(body).not.toContain('href="/sign-in')
  await visitor.get('/sign-in?back=/sign-in')
  const reply = await visitor.post('/sign-in', { name: 'mira', back: '/sign-in?back=/sign-in' })
  expect(reply.headers.location).toBe('/')
})

test('a form that is sent twice posts once, and posts again with other content', async () => {
  const visitor = await signedIn('mira')
  const onceIn = (body: string): string => /name="once" value="([^"]+)"/.exec(body)?.[1] as string
  const once = onceIn((await visitor.get('/')).body)
  const send = async (path: string, fields: Record<string, string>): Promise<unknown> =>
    (await visitor.post(path, fields)).headers.location
  const message = { title: 'Clicked twice', link: 'example.org/twice', once }
  const [first, second] = await Promise.all([send('/post', message), send('/post', message)])
  expect(second).toBe(first)
  expect(first).toBe(`/entries/${once}`)
  expect(await send('/post', message)).toBe(first)
  expect(await send('/post', { ...message, title: 'Other words' })).not.toBe(first)

  const entry = await visitor.get(first as string)
  const comment = { text: 'Said twice', once: onceIn(entry.body) }
  const [firstPath, secondPath] = await Promise.all([
    send(`${first as string}/comments`, comment),
    send(`${first as string}/comments`, comment),
  ])
  expect(firstPath).toMatch(comment.once)
  expect(secondPath).toBe(firstPath)
  expect(textOf((await visitor.get(first as string)).body)).toContain('One comment')
  // An id that is not of this site's forms, or on another shard, is replaced.
  for (const other of [likeId(once, once), once, 'nonsense'])
    expect(await send('/post', { title: 'Another id', link: '', once: other })).not.toContain(other)
})
