import { afterEach, beforeEach, expect, test } from 'vitest'
import { handleChange } from '../src/delivery/start-deliveries.ts'
import { hybrid } from '../src/delivery/strategy.ts'
import { editEntry, editionOf } from '../src/domain/entries/entries.ts'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { followId } from '../src/kinds/follow.ts'
import { addOffered, createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

const LINK = 'https://example.org/story'
const NAMES = ['Mira', 'Tomás', 'Noor', 'Ines', 'Bo', 'Uma']

let site: TestSite
let mira: Visitor
let ids: readonly string[]
let time: number

/** A site where Mira follows all others but Uma. */
beforeEach(async () => {
  site = await openTestSite({ sample: false })
  const { data } = site.site
  const people = await data.people.insertMany(
    NAMES.map((full_name, i) => ({
      name: `p${i}`,
      full_name,
      bio: '',
      hue: i,
      joined: new Date(i),
      sample: true,
    })),
  )
  ids = people.map(({ id }) => id)
  const person_id = ids[0] as string
  for (const channel_id of ids.slice(1, -1)) {
    const follow = { person_id, channel_id, since: new Date() }
    await data.follows.insert(follow, { id: followId(person_id, channel_id) })
  }
  time = Date.now() - 600_000
  mira = createVisitor(site.app)
  await mira.signIn('p0')
})
afterEach(() => site.close())

/** Publishes an entry of a person and delivers it. Returns its id. */
async function publish(name: string, title: string, link?: string): Promise<string> {
  const { data } = site.site
  const person_id = ids[NAMES.indexOf(name)] as string
  const arrived = new Date((time += 1_000))
  const { id } = await data.entries.insert(
    freshEntry({ title, person_id, link, published: arrived }, arrived),
  )
  await handleChange(data, { id, item: await data.entries.get(id) }, hybrid(), () => new Date())
  return id
}

const titlesOf = (html: string): string[] =>
  Array.from(html.matchAll(/<article class="entry"[^>]* aria-label="([^"]*)"/g), ([, title = '']) => title)
const unreadIn = (html: string): number => Number(/(\d+) unread/.exec(textOf(html))?.[1] ?? 0)

/** Returns the titles of all pages of the home. */
async function allTitles(start = '/'): Promise<string[]> {
  const titles: string[] = []
  for (let path: string | undefined = start; path !== undefined;) {
    const { body } = await mira.get(path)
    titles.push(...titlesOf(body))
    path = /rel="next" href="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
  }
  return titles
}

test('a link that several channels bring is one story of the home page, with their names, once its index is ready', async () => {
  await publish('Noor', 'First', LINK)
  await publish('Tomás', 'Between')
  await publish('Uma', 'Not followed', LINK)
  await publish('Tomás', 'Second', 'http://example.org/story/')
  await publish('Tomás', 'Another link', `${LINK}/2`)
  expect(titlesOf((await mira.get('/')).body)).toEqual(['Another link', 'Second', 'Between', 'First'])
  await addOffered(site.site)
  const { body } = await mira.get('/')
  expect(titlesOf(body)).toEqual(['Another link', 'Second', 'Between'])
  expect(textOf(body)).toContain('Tomás and Noor shared this')
  expect(textOf(body).match(/shared this/g)).toHaveLength(1)
  await publish('Ines', 'Third', LINK)
  await publish('Bo', 'Fourth', LINK)
  expect(textOf((await mira.get('/')).body)).toContain('Bo, Ines and 2 others shared this')
  expect(titlesOf((await mira.get('/')).body)).toEqual(['Fourth', 'Another link', 'Between'])
})

test('a story appears once on all pages of a home, in each order', async () => {
  await addOffered(site.site)
  const oldest = await publish('Noor', 'Oldest', LINK)
  for (let i = 0; i < 30; i++) await publish('Tomás', `Message ${i}`)
  await publish('Ines', 'Newest', LINK)
  expect((await allTitles()).filter((title) => /Oldest|Newest/.test(title))).toEqual(['Newest'])
  await mira.post(`/entries/${oldest}/comments`, { text: 'Still good' })
  const { data } = site.site
  await handleChange(
    data,
    { id: oldest, item: await data.entries.get(oldest) },
    hybrid(),
    () => new Date(time + 900_000),
  )
  await mira.post('/home/order', { order: 'activity', back: '/' })
  expect((await allTitles()).filter((title) => /Oldest|Newest/.test(title))).toEqual(['Oldest'])
})

test('opening a story marks all of its entries as read', async () => {
  await addOffered(site.site)
  await publish('Noor', 'First', LINK)
  const newest = await publish('Tomás', 'Second', LINK)
  await publish('Bo', 'Another')
  expect(unreadIn((await mira.get('/')).body)).toBe(2)
  const { body } = await mira.get(`/entries/${newest}`)
  expect(unreadIn(body)).toBe(1)
  expect(textOf(body)).toMatch(/Also shared by *First *Noor/)
})

/** Returns the numbers of unread entries: in the tab of the home page, as dots on all of its pages, and of its channels. */
async function unreadOf(): Promise<[tab: number, dots: number, channels: number]> {
  const { body } = await mira.get('/')
  const dots: number[] = []
  for (let path: string | undefined = '/'; path !== undefined;) {
    const page: string = (await mira.get(path)).body
    dots.push(page.match(/<li class="unread"/g)?.length ?? 0)
    path = /rel="next" href="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&')
  }
  const list = /<nav class="unread-list".*?<\/nav>/s.exec(body)?.[0] ?? ''
  const channels = Array.from(list.matchAll(/class="count"[^>]*>(\d+)/g), ([, count]) => Number(count))
  return [unreadIn(body), dots.reduce((a, b) => a + b, 0), channels.reduce((a, b) => a + b, 0)]
}

test('the number of unread entries counts a story once on every page, while its index is ready', async () => {
  for (let i = 0; i < 12; i++) {
    await publish('Noor', `First ${i}`, `${LINK}/${i}`)
    await publish('Tomás', `Second ${i}`, `${LINK}/${i}`)
  }
  await publish('Noor', 'Without a link')
  expect(await unreadOf()).toEqual([25, 25, 25])
  await addOffered(site.site)
  expect(await unreadOf()).toEqual([13, 13, 13])
  expect(unreadIn((await mira.get('/people')).body)).toBe(13)
  await mira.get(`/entries/${await publish('Uma', 'Not followed', `${LINK}/3`)}`)
  expect(await unreadOf()).toEqual([12, 12, 12])
})

test('an edit of a link takes a message out of its story once it is delivered', async () => {
  await addOffered(site.site)
  await publish('Noor', 'First', LINK)
  const { data } = site.site
  const id = await publish('Tomás', 'Second', LINK)
  const edit = async (link: string | undefined): Promise<string[]> => {
    const edition = editionOf((await data.entries.get(id))!)
    await editEntry(data, id, ids[1] as string, { title: 'Second', link, edition }, new Date((time += 1_000)))
    await handleChange(data, { id, item: await data.entries.get(id) }, hybrid(), () => new Date())
    return titlesOf((await mira.get('/')).body)
  }
  expect(await edit(`${LINK}/else`)).toEqual(['Second', 'First'])
  expect(await edit(LINK)).toEqual(['Second'])
  expect(await edit(undefined)).toEqual(['Second', 'First'])
  expect(titlesOf((await mira.get('/?media=text')).body)).toEqual(['Second'])
})

test('a removed entry leaves its story, whose next entry takes its place', async () => {
  await addOffered(site.site)
  await publish('Noor', 'First', LINK)
  const own = await publish('Mira', 'My own', LINK)
  expect(titlesOf((await mira.get('/')).body)).toEqual(['My own'])
  await mira.post(`/entries/${own}/delete`)
  const { body } = await mira.get('/')
  expect(titlesOf(body)).toEqual(['First'])
  expect(textOf(body)).not.toContain('shared this')
})
