import { expect, test } from 'vitest'
import { MOST_ITEMS, type ParsedFeed, type ParsedOpml } from './parsed-feed.ts'
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

test('an RSS item has its parts, as text', () => {
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
    },
  ])
})

test('scripts as links are dropped, and the item stays', () => {
  const [item] = parseFeed(rss('<item><title>x</title><link>javascript:alert(1)</link></item>')).items
  expect(item).toMatchObject({ title: 'x', link: undefined })
})

test('an item without an id is known by its link, and without a link by a digest', () => {
  const items = parseFeed(
    rss(
      '<item><title>x</title><link>/x</link></item><item><title>y</title></item><item><title>z</title></item>',
    ),
  ).items
  expect(items[0]?.guid).toBe('https://example.org/x')
  expect(items[1]?.guid).toMatch(/^sha256:/)
  expect(items[1]?.guid).not.toBe(items[2]?.guid)
})

test('repeats and empty items are left out and counted', () => {
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

test('a title is made of the text where there is none', () => {
  const [item] = parseFeed(rss('<item><description>Just a few words.</description></item>')).items
  expect(item).toMatchObject({ title: 'Just a few words.', body: undefined })
})

test('a permanent guid serves as the link, another one does not', () => {
  const items = parseFeed(
    rss(
      '<item><title>a</title><guid>https://example.org/p</guid></item><item><title>b</title><guid isPermaLink="false">https://example.org/q</guid></item>',
    ),
  ).items
  expect(items.map((item) => item.link)).toEqual(['https://example.org/p', undefined])
})

test('more items than the limit are left out, and it says so', () => {
  const feed = parseFeed(
    rss(Array.from({ length: MOST_ITEMS + 3 }, (_, i) => `<item><title>${i}</title></item>`).join('')),
  )
  expect(feed.items).toHaveLength(MOST_ITEMS)
  expect(feed.notes).toEqual([`Only the first ${MOST_ITEMS} items are kept; 3 more were left out.`])
})

test('items of a feed with an element that is never closed are saved', () => {
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

test('OPML gives every feed once, from all folders, and no address that is not on the web', () => {
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
  ['<!doctype html><p>Hello', 'No feed was found in it: it looks like a piece of a web page.'],
  ['{"a":1}', 'No feed was found in it: it looks like JSON, but not like a JSON Feed.'],
  ['Dear diary', 'No feed was found in it: it is neither RSS, Atom, RDF nor JSON Feed.'],
  ['\u0089PNG\u0000\u0000', 'This is not a text file.'],
  [rss(''), 'The RSS feed has no items that could be shown.'],
  ['<opml><body><outline text="x"/></body></opml>', 'The OPML file lists no feeds. 1 line names no feed.'],
])('%j is refused with the reason', (text, reason) => {
  expect(parseFile(Buffer.from(text), { name: 'x', now })).toEqual({ type: 'refused', reason })
})

const deep = (open: string): string => open.repeat(201)
test.each([
  ['RSS', rss(deep('<a>'))],
  ['Atom', `<feed xmlns="http://www.w3.org/2005/Atom">${deep('<a>')}`],
  ['OPML', `<opml version="2.0"><body>${deep('<outline text="x">')}`],
  ['JSON Feed', `{"version":"https://jsonfeed.org/version/1","items":${deep('[')}`],
])('%s that is beyond a limit is refused by its name', (_, text) => {
  expect(parseFile(Buffer.from(text), { name: 'x', now })).toEqual({
    type: 'refused',
    reason: 'The file has elements that are nested more than 200 deep.',
  })
})

test('entities that multiply do not', () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "${'ha'.repeat(50)}">${Array.from({ length: 8 }, (_, i) => `<!ENTITY ${'bcdefghi'[i]} "${`&${'abcdefgh'[i]};`.repeat(10)}">`).join('')}]>${rss('<item><title>x&i;</title></item>').replace('<?xml version="1.0"?>', '')}`
  const parsed = parseFile(Buffer.from(bomb), { name: 'x', now })
  expect(JSON.stringify(parsed).length).toBeLessThan(2000)
})

const three = [1, 2, 3].map(
  (i) => `<item><guid>${i}</guid><title>Item ${i}</title><description>Text of it.</description></item>`,
)
const breaksOff = 'The file breaks off before its end; what is whole in it was taken.'

test.each(['<guid>3', 'Item 3', 'm 3</title><descr', '</description></it'])(
  'of an RSS feed that breaks off after %j, the items before are taken, with the feed’s own title',
  (last) => {
    const text = rss(three.join(''))
    const feed = parseFeed(text.slice(0, text.lastIndexOf(last) + last.length))
    expect(feed).toMatchObject({ title: 'T', link: 'https://example.org/blog/', notes: [breaksOff] })
    expect(feed.items.map((item) => item.title)).toEqual(['Item 1', 'Item 2'])
  },
)

test('of Atom and RDF that break off, the items before are taken', () => {
  const entries = [1, 2].map((i) => `<entry><id>tag:${i}</id><title>E${i}</title></entry>`).join('')
  const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>${entries}`.slice(0, -12)
  expect(parseFeed(atom)).toMatchObject({ title: 'T', items: [{ title: 'E1' }], notes: [breaksOff] })
  const items = [1, 2].map((i) => `<item rdf:about="https://example.org/${i}"><title>R${i}</title></item>`)
  const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><title>T</title></channel>${items.join('')}`
  expect(parseFeed(rdf.slice(0, -12))).toMatchObject({ title: 'T', items: [{ title: 'R1' }] })
})

test.each([
  'text="B',
  'xmlUrl="https://example.org/b',
  '<outline text="B" xmlUrl="https://example.org/b"/></out',
])('of an OPML file that breaks off after %j, the lines before are taken', (last) => {
  const text =
    '<opml version="2.0"><head><title>L</title></head><body><outline text="F"><outline text="A" xmlUrl="https://example.org/a"/><outline text="B" xmlUrl="https://example.org/b"/></outline></body></opml>'
  const cut = text.slice(0, text.indexOf(last) + last.length)
  const parsed = parseFile(Buffer.from(cut), { name: 'x', now }) as ParsedOpml
  expect(parsed).toMatchObject({ type: 'opml', title: 'L', notes: [breaksOff] })
  expect(parsed.subscriptions.map(({ title }) => title)).toEqual(last.endsWith('</out') ? ['A', 'B'] : ['A'])
})

test.each([
  [rss('<item><title>Half an it').slice(0, -16), 'The file breaks off before its first item ends.'],
  ['<opml version="2.0"><body><outline text="A" xmlUrl="htt', 'The file breaks off before its first feed.'],
  [
    '{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"',
    'The file breaks off before its end, and JSON cannot be read in part.',
  ],
  ['{"version":"https://jsonfeed.org/version/1","items":[,]}', 'The file is not well-formed JSON.'],
])('%j is refused in words of the site', (text, reason) => {
  expect(parseFile(Buffer.from(text), { name: 'x', now })).toEqual({ type: 'refused', reason })
})
