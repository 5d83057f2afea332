import { expect, test } from 'vitest'
import { MAX_ITEMS, type ParsedFeed, type ParsedOpml } from './parsed-feed.ts'
import { parseFile } from './parse-file.ts'

const now = new Date('2026-06-01T12:00:00Z')

function parseFeed(text: string): ParsedFeed {
  const parsed = parseFile(Buffer.from(text), { name: 'a.xml', now })
  if (parsed.type !== 'feed') throw new Error(`Not a feed: ${JSON.stringify(parsed)}`)
  return parsed
}

function rss(items: string, channel = '<title>T</title><link>https://example.org/blog/</link>'): string {
  return `<?xml version="1.0"?><rss version="2.0"><channel>${channel}${items}</channel></rss>`
}

test('the parts of an RSS item become plain text', () => {
  const feed = parseFeed(
    rss(
      '<item><title>A &amp;amp; B</title><link>/a?utm_source=rss</link><guid>g1</guid><description><![CDATA[<p>One</p><p>Two</p>]]></description><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate></item>',
    ),
  )
  expect(feed).toMatchObject({ format: 'RSS', title: 'T', link: 'https://example.org/blog/', notes: [] })
  expect(feed.items).toEqual([
    {
      guid: 'g1',
      title: 'A & B',
      body: 'One\nTwo',
      link: 'https://example.org/a',
      author: undefined,
      published: new Date('2002-09-07T00:00:01Z'),
      media: [],
      tags: [],
    },
  ])
})

test('a category that lists tags gives each of them, and one with a comma in its name stays whole', () => {
  const tagsOf = (category: string): readonly string[] | undefined =>
    parseFeed(rss(`<item><title>A</title><category>${category}</category></item>`)).items[0]?.tags
  expect(tagsOf('Radio,Hip Hop,Interview')).toEqual(['Radio', 'Hip Hop', 'Interview'])
  expect(tagsOf('Article, Tutorial, , Example')).toEqual(['Article', 'Tutorial', 'Example'])
  for (const name of ['Washington, D.C.', '10,000 steps']) expect(tagsOf(name)).toEqual([name])
})

test('a link to a script is dropped and its item is kept', () => {
  const [item] = parseFeed(rss('<item><title>x</title><link>javascript:alert(1)</link></item>')).items
  expect(item).toMatchObject({ title: 'x', link: undefined })
})

test('an item without an id is identified by its link, or else by a digest', () => {
  const items = parseFeed(
    rss(
      '<item><title>x</title><link>/x</link></item><item><title>y</title></item><item><title>z</title></item>',
    ),
  ).items
  expect(items[0]?.guid).toBe('https://example.org/x')
  expect(items[1]?.guid).toMatch(/^sha256:/)
  expect(items[1]?.guid).not.toBe(items[2]?.guid)
})

test('repeated and empty items are left out and counted', () => {
  const feed = parseFeed(
    rss(
      '<item><guid>1</guid><title>x</title></item><item><guid>1</guid><title>x</title></item><item><guid>2</guid></item>',
    ),
  )
  expect(feed.items).toHaveLength(1)
  expect(feed.notes).toEqual([
    '1 item was in the file more than once.',
    '1 item has neither a title nor any text nor a link.',
  ])
})

test('an item without a title gets one from its text', () => {
  const [item] = parseFeed(rss('<item><description>Just a few words.</description></item>')).items
  expect(item).toMatchObject({ title: 'Just a few words.', body: undefined })
})

test('a guid serves as the link only if it is permanent', () => {
  const items = parseFeed(
    rss(
      '<item><title>a</title><guid>https://example.org/p</guid></item><item><title>b</title><guid isPermaLink="false">https://example.org/q</guid></item>',
    ),
  ).items
  expect(items.map((item) => item.link)).toEqual(['https://example.org/p', undefined])
})

test('items beyond the limit are left out, with a note', () => {
  const feed = parseFeed(
    rss(Array.from({ length: MAX_ITEMS + 3 }, (_, i) => `<item><title>${i}</title></item>`).join('')),
  )
  expect(feed.items).toHaveLength(MAX_ITEMS)
  expect(feed.notes).toEqual([`Only the first ${MAX_ITEMS} items are kept; 3 more were left out.`])
})

test('items of a feed with an unclosed element are salvaged', () => {
  const feed = parseFeed(rss('<itunes:category text="A"><item><title>saved</title></item>'))
  expect(feed.items.map((item) => item.title)).toEqual(['saved'])
})

test('Atom, RDF and JSON Feed are read', () => {
  const atom = parseFeed(
    '<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">&lt;b&gt;T&lt;/b&gt;</title><link rel="self" href="https://example.org/atom.xml"/><link href="https://example.org/"/><entry><id>tag:1</id><title>E</title><link rel="edit" href="/edit"/><link href="/e"/><updated>2020-01-02T03:04:05Z</updated><author><name>Ann</name></author></entry></feed>',
  )
  expect(atom).toMatchObject({ format: 'Atom', title: 'T', feedLink: 'https://example.org/atom.xml' })
  expect(atom.items[0]).toMatchObject({ guid: 'tag:1', link: 'https://example.org/e', author: 'Ann' })

  const rdf = parseFeed(
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><title>T</title><link>https://example.org/</link></channel><item rdf:about="https://example.org/1"><title>E</title><link>https://example.org/1</link></item></rdf:RDF>',
  )
  expect(rdf).toMatchObject({ format: 'RDF', items: [{ guid: 'https://example.org/1', title: 'E' }] })

  const json = parseFeed(
    JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'T',
      items: [
        {
          id: 1,
          content_html: '<p>Hi</p>',
          external_url: 'https://example.com/x',
          url: 'https://example.org/1',
        },
      ],
    }),
  )
  expect(json.items[0]).toMatchObject({ guid: '1', title: 'Hi', link: 'https://example.com/x' })
})

test('OPML lists each feed once, from all folders, without addresses that are not on the web', () => {
  const parsed = parseFile(
    Buffer.from(
      '<opml version="2.0"><head><title>My list</title></head><body><outline text="Folder"><outline text="A" xmlUrl="https://example.org/a.xml" htmlUrl="/a"/><outline text="A again" xmlUrl="https://example.org/a.xml"/></outline><outline text="B" xmlUrl="javascript:alert(1)"/><outline text="a note"/></body></opml>',
    ),
    { name: 'x.opml', now },
  ) as ParsedOpml
  expect(parsed.title).toBe('My list')
  expect(parsed.subscriptions).toEqual([
    { title: 'A', about: '', feedLink: 'https://example.org/a.xml', link: 'https://example.org/a' },
  ])
  expect(parsed.notes).toEqual(['1 line names no feed.', '1 feed has an address that is not on the web.'])
})

test.each([
  ['', 'The file is empty.'],
  ['<!doctype html><p>Hello', 'The file contains no feed: it looks like a piece of a web page.'],
  ['{"a":1}', 'The file contains no feed: it looks like JSON, but not like a JSON Feed.'],
  ['Dear diary', 'The file contains no feed: it is neither RSS, Atom, RDF nor JSON Feed.'],
  ['\u0089PNG\u0000\u0000', 'This is not a text file.'],
  [rss(''), 'The RSS feed has no items that could be shown.'],
  ['<opml><body><outline text="x"/></body></opml>', 'The OPML file lists no feeds. 1 line names no feed.'],
])('the file %j is refused with a reason', (text, reason) => {
  expect(parseFile(Buffer.from(text), { name: 'x', now })).toMatchObject({ type: 'refused', reason })
})

const deep = (open: string): string => open.repeat(201)
test.each([
  ['RSS', rss(deep('<a>'))],
  ['Atom', `<feed xmlns="http://www.w3.org/2005/Atom">${deep('<a>')}`],
  ['OPML', `<opml version="2.0"><body>${deep('<outline text="x">')}`],
  ['JSON Feed', `{"version":"https://jsonfeed.org/version/1","items":${deep('[')}`],
])('%s beyond a limit is refused with the name of the limit', (_, text) => {
  expect(parseFile(Buffer.from(text), { name: 'x', now })).toEqual({
    type: 'refused',
    reason: 'The file has elements that are nested more than 200 deep.',
  })
})

test('nested XML entities are not expanded', () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "${'ha'.repeat(50)}">${Array.from({ length: 8 }, (_, i) => `<!ENTITY ${'bcdefghi'[i]} "${`&${'abcdefgh'[i]};`.repeat(10)}">`).join('')}]>${rss('<item><title>x&i;</title></item>').replace('<?xml version="1.0"?>', '')}`
  const parsed = parseFile(Buffer.from(bomb), { name: 'x', now })
  expect(JSON.stringify(parsed).length).toBeLessThan(2000)
})

const three = [1, 2, 3].map(
  (i) => `<item><guid>${i}</guid><title>Item ${i}</title><description>Text of it.</description></item>`,
)
const truncated = 'The file is truncated; its complete items were imported.'

test.each(['<guid>3', 'Item 3', 'm 3</title><descr', '</description></it'])(
  'complete items of an RSS feed truncated after %j are imported, with the feed’s own title',
  (last) => {
    const text = rss(three.join(''))
    const feed = parseFeed(text.slice(0, text.lastIndexOf(last) + last.length))
    expect(feed).toMatchObject({ title: 'T', link: 'https://example.org/blog/', notes: [truncated] })
    expect(feed.items.map((item) => item.title)).toEqual(['Item 1', 'Item 2'])
  },
)

test('complete items of truncated Atom and RDF feeds are imported', () => {
  const entries = [1, 2].map((i) => `<entry><id>tag:${i}</id><title>E${i}</title></entry>`).join('')
  const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>${entries}`.slice(0, -12)
  expect(parseFeed(atom)).toMatchObject({ title: 'T', items: [{ title: 'E1' }], notes: [truncated] })
  const items = [1, 2].map((i) => `<item rdf:about="https://example.org/${i}"><title>R${i}</title></item>`)
  const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><title>T</title></channel>${items.join('')}`
  expect(parseFeed(rdf.slice(0, -12))).toMatchObject({ title: 'T', items: [{ title: 'R1' }] })
})

test.each([
  'text="B',
  'xmlUrl="https://example.org/b',
  '<outline text="B" xmlUrl="https://example.org/b"/></out',
])('complete lines of an OPML file truncated after %j are imported', (last) => {
  const text =
    '<opml version="2.0"><head><title>L</title></head><body><outline text="F"><outline text="A" xmlUrl="https://example.org/a"/><outline text="B" xmlUrl="https://example.org/b"/></outline></body></opml>'
  const cut = text.slice(0, text.indexOf(last) + last.length)
  const parsed = parseFile(Buffer.from(cut), { name: 'x', now }) as ParsedOpml
  expect(parsed).toMatchObject({ type: 'opml', title: 'L', notes: [truncated] })
  expect(parsed.subscriptions.map(({ title }) => title)).toEqual(last.endsWith('</out') ? ['A', 'B'] : ['A'])
})

test.each([
  [rss('<item><title>Half an it').slice(0, -16), 'The file is truncated within its first item.'],
  ['<opml version="2.0"><body><outline text="A" xmlUrl="htt', 'The file is truncated before its first feed.'],
  [
    '{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"',
    'The file is truncated, and JSON cannot be read in part.',
  ],
  ['{"version":"https://jsonfeed.org/version/1","items":[,]}', 'The file is not well-formed JSON.'],
])('the broken file %j is refused with a reason for people', (text, reason) => {
  expect(parseFile(Buffer.from(text), { name: 'x', now })).toEqual({ type: 'refused', reason })
})
