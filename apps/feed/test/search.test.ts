import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { titledAs } from '../src/domain/search/found-by.ts'
import { createVisitor, openTestSite, textOf, type TestSite, type Visitor } from './support.ts'

let site: TestSite
let visitor: Visitor
let personId: string
beforeAll(async () => {
  site = await openTestSite()
  visitor = createVisitor(site.app)
  const { data } = site.site
  personId = (await data.people.byName.first({ name: 'mira' }))?.id ?? ''
  await data.entries.insertMany(
    Array.from({ length: 25 }, (_, i) => ({
      ...freshEntry(
        {
          title: `Zeppelin ${i}`,
          body: `${'filling words '.repeat(40)} a <b>Zeppelín</b> & more`,
          tags: ['Airships', '#Züge'],
          person_id: personId,
          published: new Date(1_600_000_000_000 + i),
        },
        new Date(),
      ),
    })),
  )
})
afterAll(() => site.close())

const search = (text: string) => visitor.get(`/search?q=${encodeURIComponent(text)}`)

test('a search shows the entries with its words, which are marked, page by page', async () => {
  const first = await search('ZEPPELIN')
  expect(first.statusCode).toBe(200)
  expect(first.body.match(/<article/g)).toHaveLength(20)
  expect(first.body).toContain('<mark>Zeppelin</mark> 24')
  // The excerpt begins near the word, and its markup is text.
  expect(first.body).toContain('&lt;b><mark>Zeppelín</mark>&lt;/b> &amp; more')
  const next = /rel="next" href="([^"]+)"/.exec(first.body)?.[1]?.replaceAll('&amp;', '&') as string
  const second = await visitor.get(next)
  expect(second.body.match(/<article/g)).toHaveLength(5)
  expect(second.body).toContain('<mark>Zeppelin</mark> 0')
  const previous = /rel="prev" href="([^"]+)"/.exec(second.body)?.[1]?.replaceAll('&amp;', '&') as string
  expect((await visitor.get(previous)).body.match(/<article/g)).toHaveLength(20)
})

test('the search field of each page has the text of the search, and markup in it stays text', async () => {
  const { body } = await search('"><script>alert(1)</script>')
  expect(body).not.toContain('<script>')
  expect(body).toContain('value="&quot;>&lt;script>alert(1)&lt;/script>"')
  expect((await visitor.get('/people')).body).toMatch(/<form class="search" role="search" action="\/search">/)
})

test('a search that is empty, refused or without a match has a page that explains searching', async () => {
  const cases: readonly [string, number, string][] = [
    ['', 200, 'How to search'],
    ['  ', 200, 'SearchHow to search'],
    ['before:2026-01-01', 422, 'Give a word, a tag, a person or a source to search for.'],
    ['from:nobody-here', 422, 'No person here has the name “nobody-here”.'],
    ['source:qqq', 422, 'No source has “qqq” in its title.'],
    ['qqqqq', 200, 'No entry has this.'],
    ['bread qqqqq', 200, 'No entry has all of this. Fewer words find more.'],
  ]
  for (const [text, status, sentence] of cases) {
    const reply = await search(text)
    expect({ text, status: reply.statusCode }).toEqual({ text, status })
    expect(textOf(reply.body)).toContain(sentence)
    expect(textOf(reply.body)).toContain('How to search')
  }
})

test('each example of the help is a link to a search that finds entries of the sample', async () => {
  const { body } = await search('')
  const examples = Array.from(
    body.matchAll(/<dt><a href="\/search\?q=([^"]+)"/g),
    ([, text]) => text as string,
  )
  expect(examples).toHaveLength(7)
  for (const text of examples) {
    const found = await search(decodeURIComponent(text))
    expect([text, found.body.includes('<article')]).toEqual([text, true])
  }
})

test('a search for a source that several titles match offers a search in each', async () => {
  const { data } = site.site
  const sources = ['Airship Weekly', 'The Airship Review'].map((title) => ({
    ...titledAs(title),
    about: '',
    known_as: [title],
    added: new Date(),
  }))
  const [weekly] = await data.sources.insertMany(sources)
  const facts = { title: 'Zeppelin news', source_id: weekly?.id ?? '', published: new Date() }
  await data.entries.insert(freshEntry(facts, new Date()))
  const { body } = await search('source:airship zeppelin')
  expect(body.match(/\/search\?q=source%3A[0-9a-f-]{36}%20zeppelin/g)).toHaveLength(2)
  const narrowed = await search(`source:${weekly?.id} zeppelin`)
  expect(narrowed.body.match(/<article/g)).toHaveLength(1)
  expect((await search('source:"airship weekly" zeppelin')).body.match(/<article/g)).toHaveLength(1)
})

test('idea 8: a tag on a card leads to the page of the tag, whatever its case, and is no tab stop', async () => {
  const { body } = await search('zeppelin')
  expect(body).toContain('<a class="tag" href="/tags/Airships" tabindex="-1"><bdi>Airships</bdi></a>')
  expect(body).toContain('<a class="tag" href="/tags/Z%C3%BCge" tabindex="-1"><bdi>Züge</bdi></a>')
  for (const path of ['/tags/Airships', '/tags/airships', '/tags/Z%C3%BCge', '/tags/zuge'])
    expect((await visitor.get(path)).body.match(/<article/g)).toHaveLength(20)
  expect(textOf((await visitor.get('/tags/%3Cb%3E')).body)).toContain('Nothing with this tag')
})

test('a search finds an entry by its new words after an edit, and not at all after its removal', async () => {
  await visitor.signIn('mira')
  const found = async (text: string): Promise<number> =>
    (await search(text)).body.match(/<article/g)?.length ?? 0
  const posted = await visitor.post('/post', { title: 'A xylophone', link: '' })
  const path = posted.headers.location as string
  expect(await found('xylophone from:mira')).toBe(1)
  await visitor.post(`${path}/edit`, { title: 'A vibraphone', link: '' })
  expect([await found('xylophone'), await found('vibraphone')]).toEqual([0, 1])
  await visitor.post(`${path}/delete`)
  expect(await found('vibraphone')).toBe(0)
})

test('an address of a search with a damaged cursor is refused', async () => {
  expect((await visitor.get('/search?q=zeppelin&after=nonsense')).statusCode).toBe(400)
})

test('a long tag of wide characters leads to its entries', async () => {
  const tag = `${'a'.repeat(59)}😀 and more`
  const facts = { title: 'Long tag', tags: [tag], person_id: personId, published: new Date() }
  await site.site.data.entries.insert(freshEntry(facts, new Date()))
  for (const path of [
    `/tags/${encodeURIComponent(tag)}`,
    `/search?q=${encodeURIComponent(`tag:"${tag}"`)}`,
  ]) {
    const { statusCode, body } = await visitor.get(path)
    expect([path, statusCode]).toEqual([path, 200])
    expect(textOf(body)).toContain('Long tag')
  }
})
