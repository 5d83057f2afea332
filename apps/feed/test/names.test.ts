import { expect, onTestFinished, test } from 'vitest'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { likeEntry, postComment } from '../src/domain/entries/responses.ts'
import { addOffered, createVisitor, openTestSite } from './support.ts'

/** A name whose last parenthesis jumps to its other end unless the name has a direction of its own. */
const NAME = 'سلمى القحطاني (١)'
/** A pattern of the name in a plain text, between marks. */
const ISOLATED = `\u2068${NAME.replace(/[()]/g, '\\$&')}\u2069`

/** Returns the tag before each visible text of a page that contains the name. */
function tagsBeforeName(html: string): string[] {
  const visible = html.replace(/<head>.*?<\/head>/s, '').replaceAll(/<span class="unseen">.*?<\/span>/gs, '')
  return Array.from(visible.matchAll(/(<[^>]+>)([^<]*)/g), ([, tag = '', text = '']) =>
    text.includes(NAME) ? [tag] : [],
  ).flat()
}

/** Opens a site with a person of this name. */
async function openSiteOfSalma() {
  const { app, site, close } = await openTestSite({ sample: false })
  onTestFinished(close)
  await addOffered(site)
  const { data } = site
  const now = new Date()
  const salma = { name: 'salma', full_name: NAME, bio: '', hue: 1, joined: now, sample: true }
  const { id } = await data.people.insert(salma)
  return { app, data, id, now }
}

test('a name that is written from right to left has a direction of its own on every page', async () => {
  const { app, data, id, now } = await openSiteOfSalma()
  const feed = { title: 'A source', about: '', known_as: [], added: now, person_id: id }
  const source = await data.sources.insert(feed)
  const link = 'https://example.org/shared'
  const facts = { title: 'An entry', link, person_id: id, author: `${NAME} and others`, published: now }
  const entry = await data.entries.insert(freshEntry({ ...facts, source_id: source.id }, now))
  const other = await data.entries.insert(freshEntry({ ...facts, title: 'Another entry' }, now))
  await likeEntry(data, entry.id, id)
  await postComment(data, { entry_id: entry.id, person_id: id, text: 'A comment' })
  const visitor = createVisitor(app)
  const pages = new Map<string, number>()
  const look = async (paths: readonly string[]): Promise<void> => {
    for (const path of paths) {
      const tags = tagsBeforeName((await visitor.get(path)).body)
      expect({ path, open: tags.filter((tag) => !/^<bdi\b|dir="auto"/.test(tag)) }).toEqual({
        path,
        open: [],
      })
      pages.set(path, tags.length)
    }
  }
  const ofPerson = ['', '/likes', '/sources'].map((view) => `/people/salma${view}`)
  await look(['/', '/people', ...ofPerson, '/sources', `/sources/${source.id}`, '/sign-in'])
  await look([`/entries/${entry.id}`, `/entries/${other.id}`])
  await visitor.signIn('salma')
  await look(['/settings'])
  // Person, author, like and comment.
  expect(pages.get(`/entries/${entry.id}`)).toBeGreaterThanOrEqual(4)
  expect([...pages].filter(([, names]) => names === 0)).toEqual([])
})

test('a name that is written from right to left has a direction of its own in titles and sentences', async () => {
  const { app, data, id, now } = await openSiteOfSalma()
  const source = await data.sources.insert({
    title: NAME,
    about: '',
    known_as: [],
    added: now,
    person_id: id,
  })
  const entry = await data.entries.insert(freshEntry({ title: NAME, person_id: id, published: now }, now))
  const visitor = createVisitor(app)
  await visitor.signIn('salma')
  const titles = ['/people/salma', '/people/salma/likes', '/people/salma/sources', `/sources/${source.id}`]
  for (const path of [...titles, `/entries/${entry.id}`, `/search?q=${encodeURIComponent(NAME)}`])
    expect((await visitor.get(path)).body).toMatch(new RegExp(`<title>[^<]*${ISOLATED}`))
  for (const operator of ['from', 'has', 'since']) {
    const { body } = await visitor.get(`/search?q=${encodeURIComponent(`${operator}:"${NAME}"`)}`)
    expect(body).toMatch(new RegExp(`<p class="alert" role="alert">[^<]*“${ISOLATED}”`))
  }
  const items = '<item><guid>1</guid><title>One</title></item>'
  const files = [
    { name: `${NAME}.html`, text: '<p>no feed</p>' },
    { name: 'a.xml', text: `<rss version="2.0"><channel><title>${NAME}</title>${items}</channel></rss>` },
  ]
  const { body } = await visitor.upload('/import', files)
  expect(body).toContain(`\u2068${NAME}.html\u2069: refused.`)
  expect(body).toContain(`\u2068${NAME}\u2069 (RSS): 1 new entry.`)
})
