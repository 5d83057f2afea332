import { afterEach, beforeEach, expect, test } from 'vitest'
import { handleChange } from '../src/delivery/start-deliveries.ts'
import { hybrid } from '../src/delivery/strategy.ts'
import { freshEntry, type EntryFacts } from '../src/domain/entries/fresh-entry.ts'
import { backfill } from '../src/domain/home/commands.ts'
import { followId } from '../src/kinds/follow.ts'
import { serviceId } from '../src/kinds/service.ts'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

let site: TestSite
let ids: Record<'mira' | 'tomas' | 'noor', string>
let mira: Visitor
let time: number

beforeEach(async () => {
  site = await openTestSite({ sample: false })
  const names = ['Mira Saltmarsh', 'Tomás Quill', 'Noor Ames']
  const people = await site.site.data.people.insertMany(
    ['mira', 'tomas', 'noor'].map((name, i) => ({
      name,
      full_name: names[i] as string,
      bio: '',
      hue: i,
      joined: new Date(i),
      sample: true,
    })),
  )
  const [first, second, third] = people.map(({ id }) => id)
  ids = { mira: first ?? '', tomas: second ?? '', noor: third ?? '' }
  time = Date.now() - 600_000
  mira = createVisitor(site.app)
  await mira.signIn('mira')
})
afterEach(() => site.close())

async function follow(person_id: string, channel_id: string): Promise<void> {
  const { data } = site.site
  await data.follows.insert(
    { person_id, channel_id, since: new Date() },
    { id: followId(person_id, channel_id) },
  )
  await backfill(data, person_id, channel_id)
}

/** Publishes an entry and delivers it. Returns its id. */
async function publish(facts: Omit<EntryFacts, 'published'>): Promise<string> {
  const arrived = new Date((time += 1_000))
  const { data } = site.site
  const { id } = await data.entries.insert(freshEntry({ ...facts, published: arrived }, arrived))
  await deliver(id)
  return id
}

async function deliver(id: string): Promise<void> {
  const { data } = site.site
  await handleChange(data, { id, item: await data.entries.get(id) }, hybrid(), () => new Date())
}

const titlesOf = (html: string): string[] =>
  Array.from(html.matchAll(/<article class="entry"[^>]* aria-label="([^"]*)"/g), ([, title = '']) => title)

const unreadIn = (html: string): number => Number(/(\d+) unread/.exec(textOf(html))?.[1] ?? 0)

test('pages of a signed-in person lead to everything, which has its name as its heading', async () => {
  const heading = '<h1 class="page-title">Everything</h1>'
  for (const path of ['/', '/people', '/following'])
    expect((await mira.get(path)).body).toContain('<a href="/everything">Everything</a>')
  const { body } = await mira.get('/everything')
  expect(body).toContain('<a href="/everything" aria-current="page">Everything</a>')
  expect(body).toContain(heading)
})

test('a home page has what a person follows, with the reason, and everything has the rest', async () => {
  await follow(ids.mira, ids.noor)
  await publish({ title: 'By Noor', person_id: ids.noor })
  await publish({ title: 'By Tomás', person_id: ids.tomas })
  await publish({ title: 'My own', person_id: ids.mira })
  const { body } = await mira.get('/')
  expect(titlesOf(body)).toEqual(['My own', 'By Noor'])
  expect(textOf(body)).not.toMatch(/because you follow Noor/)
  expect(titlesOf((await mira.get('/everything')).body)).toEqual(
    expect.arrayContaining(['By Tomás', 'By Noor', 'My own']),
  )
  expect(titlesOf((await createVisitor(site.app).get('/')).body)).toContain('By Tomás')
})

test('a story of a source appears once, with the names of those who brought it', async () => {
  const { data } = site.site
  const about = { title: 'Tidings', about: '', link: undefined, feed_link: undefined, person_id: undefined }
  const { id: source_id } = await data.sources.insert({ ...about, known_as: [], added: new Date() })
  for (const person_id of [ids.noor, ids.tomas]) {
    const service = { person_id, source_id, added: new Date() }
    await data.services.insert(service, { id: serviceId(person_id, source_id) })
    await data.follows.insert(
      { person_id: ids.mira, channel_id: person_id, since: new Date() },
      { id: followId(ids.mira, person_id) },
    )
  }
  await publish({ title: 'One story', source_id })
  const { body } = await mira.get('/')
  expect(titlesOf(body)).toEqual(['One story'])
  expect(textOf(body)).toMatch(/because you follow (?=.*Noor)(?=.*Tomás)[^·]* and /)
})

test('a message is unread for the followers of its writer, and read for the writer', async () => {
  await follow(ids.mira, ids.tomas)
  await publish({ title: 'By Mira', person_id: ids.mira })
  expect(unreadIn((await mira.get('/')).body)).toBe(0)
  await publish({ title: 'By Tomás', person_id: ids.tomas })
  expect(unreadIn((await mira.get('/')).body)).toBe(1)
})

test('every page shows the same number of unread entries, and a list shows it by channel', async () => {
  await follow(ids.mira, ids.noor)
  await follow(ids.mira, ids.tomas)
  const first = await publish({ title: 'One', person_id: ids.noor })
  await publish({ title: 'Two', person_id: ids.noor })
  await publish({ title: 'Three', person_id: ids.tomas })
  const home = (await mira.get('/')).body
  expect(textOf(home)).toMatch(/Unread *Noor [^0-9]*2 *Tomás [^0-9]*1/)
  for (const path of ['/', '/people', '/sources', '/people/noor', '/everything', '/post'])
    expect([path, unreadIn((await mira.get(path)).body)]).toEqual([path, 3])
  // Opening an entry marks it, on its own page already.
  expect(unreadIn((await mira.get(`/entries/${first}`)).body)).toBe(2)
  expect(unreadIn((await mira.get('/people')).body)).toBe(2)
  expect(unreadIn((await createVisitor(site.app).get('/people')).body)).toBe(0)
})

test('mark all as read marks the entries that the page showed, and none that came later', async () => {
  await follow(ids.mira, ids.noor)
  await publish({ title: 'Seen', person_id: ids.noor })
  const { body } = await mira.get('/')
  const until = /name="until" value="(\d+)"/.exec(body)?.[1] ?? ''
  await new Promise((resolve) => setTimeout(resolve, 5))
  await publish({ title: 'Not seen', person_id: ids.noor })
  expect((await mira.post('/home/read', { until, back: '/?media=text' })).headers.location).toBe(
    '/?media=text',
  )
  expect(unreadIn((await mira.get('/')).body)).toBe(1)
  for (const wrong of ['x', '-1', `${Number.MIN_SAFE_INTEGER}`])
    expect([wrong, (await mira.post('/home/read', { until: wrong })).statusCode]).toEqual([wrong, 404])
})

test('a person hides an entry, and can undo it', async () => {
  await follow(ids.mira, ids.noor)
  const id = await publish({ title: 'Hide me', person_id: ids.noor })
  await mira.get('/')
  const hidden = await mira.post(`/entries/${id}/hide`, { back: '/#e-1' })
  expect(hidden.headers.location).toBe(`/?hidden=${id}`)
  const { body } = await mira.get(`/?hidden=${id}`)
  expect(titlesOf(body)).toEqual([])
  expect(textOf(body)).toContain('Hidden: “Hide me”')
  expect((await mira.post(`/entries/${id}/show`, { back: `/?hidden=${id}` })).headers.location).toBe(
    `/#e-${id}`,
  )
  expect(titlesOf((await mira.get('/')).body)).toEqual(['Hide me'])
  const other = await publish({ title: 'Not mine', person_id: ids.tomas })
  expect((await mira.post(`/entries/${other}/hide`)).statusCode).toBe(404)
})

test('the order of a home page is remembered, and a comment moves its entry up in the order of activity', async () => {
  await follow(ids.mira, ids.noor)
  const old = await publish({ title: 'Old', person_id: ids.noor })
  await publish({ title: 'New', person_id: ids.noor })
  const tomas = createVisitor(site.app)
  await tomas.signIn('tomas')
  await tomas.post(`/entries/${old}/comments`, { text: 'Still good' })
  await tomas.post(`/entries/${old}/like`)
  await deliver(old)
  expect(titlesOf((await mira.get('/')).body)).toEqual(['New', 'Old'])
  await mira.post('/home/order', { order: 'activity', back: '/' })
  const { body } = await mira.get('/')
  expect(titlesOf(body)).toEqual(['Old', 'New'])
  expect(textOf(body)).toMatch(/Tomás Quill commented/)
})

test('idea 3: a home page has pages of 20, a filter by media, and a sentence at its end', async () => {
  await follow(ids.mira, ids.noor)
  for (let i = 0; i < 45; i++) {
    const link = i % 10 === 0 ? `https://example.org/${i}` : undefined
    await publish({ title: `Entry ${i}`, person_id: ids.noor, ...(link !== undefined && { link }) })
  }
  const titles: string[] = []
  let path: string | undefined = '/'
  const pages: string[] = []
  while (path !== undefined) {
    const { body } = await mira.get(path)
    pages.push(body)
    titles.push(...titlesOf(body))
    path = /rel="next" href="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
  }
  expect(titles).toEqual(
    Array.from({ length: 45 }, (_, i) => expect.stringMatching(new RegExp(`^Entry ${44 - i}\\b`))),
  )
  expect(pages.map((page) => textOf(page).includes('These are all entries that have come to you.'))).toEqual([
    false,
    false,
    true,
  ])
  expect(new Set(pages.map(unreadIn))).toEqual(new Set([45]))
  expect(titlesOf((await mira.get('/?media=link')).body)).toHaveLength(5)
  expect((await mira.get('/?after=wrong')).statusCode).toBe(400)
})
