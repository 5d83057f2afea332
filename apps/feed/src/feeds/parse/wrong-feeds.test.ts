import { memoryShards } from 'looseleaf'
import { expect, test } from 'vitest'
import { importedEntryId } from '../../kinds/ids.ts'
import { UNDATED_BEFORE } from '../../domain/entries/entries.ts'
import { openSite, type Site } from '../../domain/site/site.ts'
import { importFile } from '../../domain/imports/import-file.ts'
import { parseFile } from './parse-file.ts'
import type { ParsedFeed, ParsedFile } from './parsed-feed.ts'

/* Feeds that readers get wrong. */

const now = new Date('2026-12-01T12:00:00Z')

const parse = (bytes: string | Uint8Array, address?: string): ParsedFile =>
  parseFile(Buffer.from(bytes), { name: 'a.xml', now, address })

function parseFeed(bytes: string | Uint8Array, address?: string): ParsedFeed {
  const parsed = parse(bytes, address)
  if (parsed.type !== 'feed') throw new Error(`Not a feed: ${JSON.stringify(parsed)}`)
  return parsed
}

const rss = (items: string): string =>
  `<?xml version="1.0"?><rss version="2.0"><channel><title>T</title><link>https://blog.example/</link>${items}</channel></rss>`

const atom = (entries: string, namespaces = ''): string =>
  `<feed xmlns="http://www.w3.org/2005/Atom"${namespaces}><id>urn:x</id><title>T</title>${entries}</feed>`

const json = (items: object[], escape = false): string => {
  const text = JSON.stringify({ version: 'https://jsonfeed.org/version/1.1', title: 'A &#8211; B', items })
  return escape ? text.replaceAll('/', String.raw`\/`) : text
}

test('a JSON Feed whose slashes are escaped is read', () => {
  const feed = parseFeed(json([{ id: '1', url: 'https://blog.example/1', title: 'One' }], true))
  expect(feed.items).toMatchObject([{ guid: '1', link: 'https://blog.example/1' }])
})

test('a title of a JSON Feed that was escaped by mistake is decoded, unless it would become markup', () => {
  const feed = parseFeed(
    json([
      { id: '1', title: 'A &amp; B' },
      { id: '2', title: 'Use &lt;b&gt;' },
    ]),
  )
  expect(feed.title).toBe('A – B')
  expect(feed.items.map(({ title }) => title)).toEqual(['A & B', 'Use &lt;b&gt;'])
})

test('a text that is nothing but a short link is left out, because its address is lost', () => {
  const bodyOf = (html: string): string | undefined =>
    parseFeed(rss(`<item><title>A</title><description><![CDATA[${html}]]></description></item>`)).items[0]
      ?.body
  for (const lone of ['<a href="/c">Comments</a>', ' <p><a href="/c">Read more</a></p>'])
    expect(bodyOf(lone)).toBeUndefined()
  expect(bodyOf('See <a href="/c">this</a>')).toBe('See this')
})

test('the portrait of an author makes an item no picture', () => {
  const media = (size: string): string =>
    `<entry><id>urn:1</id><title>v1</title><m:thumbnail url="https://code.example/u/1.png"${size}/></entry>`
  const mediaOf = (size: string): unknown =>
    parseFeed(atom(media(size), ' xmlns:m="http://search.yahoo.com/mrss/"')).items[0]?.media
  expect(mediaOf(' height="30" width="30"')).toEqual([])
  for (const size of ['', ' height="180" width="320"'])
    expect(mediaOf(size)).toEqual([{ url: 'https://code.example/u/1.png', type: 'image' }])
})

test('an id that all items of a file have identifies none of them', () => {
  const item = (n: number): string =>
    `<item><title>Post ${n}</title><link>https://blog.example/${n}</link><guid isPermaLink="false">g</guid></item>`
  expect(parseFeed(rss([1, 2, 3].map(item).join(''))).items.map(({ guid }) => guid)).toEqual(
    [1, 2, 3].map((n) => `https://blog.example/${n}`),
  )
})

test('items without an id that share a link are told apart by their files and texts', () => {
  const episode = (n: number): string =>
    `<item><title>Episode ${n}</title><link>https://radio.example/all</link><enclosure url="https://radio.example/${n}.mp3" type="audio/mpeg" length="1"/></item>`
  const { items, notes } = parseFeed(rss([1, 2, 3, 3].map(episode).join('')))
  expect(items.map(({ guid }) => guid)).toEqual([1, 2, 3].map((n) => `https://radio.example/${n}.mp3`))
  expect(notes).toEqual(['1 item was in the file more than once.'])
})

test('pictures, sounds and films are kept, each address once', () => {
  const [item] = parseFeed(
    rss(
      `<item><title>x</title><link>/x</link><enclosure url="/p.jpg" type="image/jpeg"/><enclosure url="/c.mp3"/><media:content xmlns:media="http://search.yahoo.com/mrss/" url="/f" medium="video"/><media:content xmlns:media="http://search.yahoo.com/mrss/" url="/p.jpg"/></item>`,
    ),
  ).items
  expect(item?.media).toEqual([
    { url: 'https://blog.example/p.jpg', type: 'image' },
    { url: 'https://blog.example/c.mp3', type: 'audio' },
    { url: 'https://blog.example/f', type: 'video' },
  ])
})

test('an item that is nothing but a file is named after it', () => {
  const { items } = parseFeed(
    atom(
      '<entry><id>urn:1</id><link rel="enclosure" href="https://radio.example/One%20two.mp3" type="audio/mpeg"/></entry>',
    ),
  )
  expect(items).toMatchObject([
    { guid: 'urn:1', title: 'One two.mp3', link: 'https://radio.example/One%20two.mp3' },
  ])
})

test('links of a feed without any absolute address refer to the address that it was fetched from', () => {
  const text = atom(
    '<link rel="alternate" href="/"/><entry><id>/one/</id><title>One</title><link href="/one/"/></entry>',
  )
  expect(parseFeed(text).items[0]?.link).toBeUndefined()
  const feed = parseFeed(text, 'https://site.example/feed.xml')
  expect([feed.feedLink, feed.link, feed.items[0]?.link]).toEqual([
    'https://site.example/feed.xml',
    'https://site.example/',
    'https://site.example/one/',
  ])
})

test('a feed whose elements have a prefix is read', () => {
  const feed = parseFeed(
    '<?xml version="1.0"?><!-- x --><r:rss version="2.0" xmlns:r="http://backend.userland.com/rss2"><r:channel><r:title>P</r:title><r:item><r:title>One</r:title><r:link>https://blog.example/1</r:link></r:item></r:channel></r:rss>',
  )
  expect(feed).toMatchObject({ title: 'P', items: [{ title: 'One', link: 'https://blog.example/1' }] })
})

test('base64 texts of Atom 0.3 are decoded, and XHTML becomes text', () => {
  const { items } = parseFeed(
    `<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>T</title><entry><id>1</id><title mode="base64" type="text/html">${Buffer.from('Example <b>Ätom</b>').toString('base64')}</title></entry></feed>`,
  )
  expect(items[0]?.title).toBe('Example Ätom')
  const xhtml = parseFeed(
    atom(
      '<entry><id>1</id><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <b>bold</b> one</div></title><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>Two</p></div></content></entry>',
    ),
  )
  expect(xhtml.items).toMatchObject([{ title: 'A bold one', body: 'One\nTwo' }])
})

test.each([
  ['big-endian with a mark', true, true],
  ['little-endian with a mark', false, true],
  ['big-endian', true, false],
  ['little-endian', false, false],
])('UTF-32 is decoded: %s', (_, isBig, hasMark) => {
  const chars = [...`${hasMark ? '\ufeff' : ''}${rss('<item><title>Grüße 🎈</title></item>')}`]
  const bytes = Buffer.alloc(chars.length * 4)
  for (const [i, char] of chars.entries()) {
    const code = char.codePointAt(0) as number
    if (isBig) bytes.writeUInt32BE(code, i * 4)
    else bytes.writeUInt32LE(code, i * 4)
  }
  expect(parseFeed(bytes).items[0]?.title).toBe('Grüße 🎈')
})

test('a bad byte in UTF-8 costs one character, and text in windows-1252 stays readable', () => {
  const bad = Buffer.concat([
    Buffer.from('<rss version="2.0"><channel><title>T</title><item><title>Übermäßig'),
    Buffer.of(0xff),
    Buffer.from('</title></item></channel></rss>'),
  ])
  expect(parseFeed(bad).items[0]?.title).toBe('Übermäßig\ufffd')
  const latin = Buffer.from(
    '<rss version="2.0"><channel><title>T</title><item><title>Übermäßig</title></item></channel></rss>',
    'latin1',
  )
  expect(parseFeed(latin).items[0]?.title).toBe('Übermäßig')
})

test('the description of Dublin Core is the text of an RDF item', () => {
  const feed = parseFeed(
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://x.example/"><title>T</title></channel><item rdf:about="https://x.example/1"><title>One</title><dc:description>The text</dc:description></item></rdf:RDF>',
  )
  expect(feed.items[0]?.body).toBe('The text')
})

test('categories are kept as tags, each once', () => {
  const [item] = parseFeed(
    rss(
      '<item><title>x</title><category>cats</category><category> dogs </category><category>cats</category></item>',
    ),
  ).items
  expect(item?.tags).toEqual(['cats', 'dogs'])
})

test('a line of an OPML file that links to a feed is a subscription, and one that links to a page is none', () => {
  const parsed = parse(
    '<opml version="1.0"><body><outline type="link" text="A" url="https://a.example/feed.xml"/><outline type="link" text="B" url="https://b.example/page"/></body></opml>',
  )
  expect(parsed).toMatchObject({
    subscriptions: [{ title: 'A', feedLink: 'https://a.example/feed.xml' }],
    notes: ['1 line names no feed.'],
  })
})

test('a feed whose items show nothing says so', () => {
  const parsed = parse(
    rss(
      '<item><itunes:duration xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">x</itunes:duration></item>',
    ),
  )
  expect(parsed).toMatchObject({
    type: 'refused',
    reason: expect.stringContaining('no items that could be shown'),
  })
})

async function withSite(work: (site: Site) => Promise<void>): Promise<void> {
  const site = await openSite({ shards: memoryShards(1), cleaner: false })
  try {
    await work(site)
  } finally {
    await site.close()
  }
}

const importText = (site: Site, text: string) =>
  importFile(site, { name: 'a.xml', bytes: Buffer.from(text) }, { personId: undefined, now })

test('an id with half a surrogate pair names its item, and the other items are imported too', () =>
  withSite(async (site) => {
    const text = json([
      { id: 'half \ud800', title: 'Half' },
      { id: '2', title: 'Whole' },
    ])
    expect(await importText(site, text)).toMatchObject({ stored: { added: 2, failed: 0 } })
    expect(await importText(site, text)).toMatchObject({ stored: { added: 0, unchanged: 2 } })
  }))

test('a long name of a file is cut between its characters', () =>
  withSite(async (site) => {
    const file = {
      name: `${'n'.repeat(119)}😀`,
      bytes: Buffer.from('<rss version="2.0"><channel><item><title>A</title></item></channel></rss>'),
    }
    const imported = await importFile(site, file, { personId: undefined, now })
    expect(imported).toMatchObject({ title: `${'n'.repeat(119)}\ufffd`, stored: { added: 1 } })
  }))

test('an entry that its feed says it has deleted is removed, and its comments stay', () =>
  withSite(async (site) => {
    const { entries, comments } = site.data
    const entry = (n: number): string => `<entry><id>urn:${n}</id><title>${n}</title></entry>`
    const self = '<link rel="self" href="https://blog.example/feed"/>'
    const first = await importText(site, atom(`${self}${entry(1)}${entry(2)}`))
    if (first.type !== 'feed') throw new Error(JSON.stringify(first))
    const id = importedEntryId(first.stored.sourceId, 'urn:1')
    const person = site.store.newId()
    await comments.put({
      id: site.store.newId(),
      entry_id: id,
      person_id: person,
      text: 'Hi',
      commented: now,
    })
    const second = await importText(
      site,
      atom(
        `${self}<at:deleted-entry ref="urn:1" when="2026-11-02T00:00:00Z"/>${entry(2)}`,
        ' xmlns:at="http://purl.org/atompub/tombstones/1.0"',
      ),
    )
    expect(second).toMatchObject({ stored: { added: 0, unchanged: 1, deleted: 1 } })
    expect((await entries.get(id))?.removed).toBeDefined()
    expect(await comments.byEntry.count({ entry_id: id })).toBe(1)
  }))

test('items without a date keep the order of the file, and never stand above newer entries', () =>
  withSite(async (site) => {
    const { entries } = site.data
    const published = async (text: string): Promise<Map<string, number>> => {
      const result = await importText(site, text)
      if (result.type !== 'feed') throw new Error(JSON.stringify(result))
      const { items } = await entries.byPublisher.page(
        { publisher_id: result.stored.sourceId },
        { limit: 10 },
      )
      return new Map(items.map((entry) => [entry.title, entry.published.getTime()]))
    }
    const dated = await published(
      rss(
        '<item><title>a</title></item><item><title>b</title><pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate></item><item><title>c</title></item>',
      ),
    )
    const b = Date.parse('2026-11-02T10:00:00Z')
    expect([dated.get('a'), dated.get('b'), dated.get('c')]).toEqual([b + 1, b, b - 1])
    const undated = await published(
      '<rss version="2.0"><channel><title>U</title><link>https://u.example/</link><item><title>a</title></item><item><title>b</title></item></channel></rss>',
    )
    expect(undated.get('a')).toBeLessThan(UNDATED_BEFORE)
    expect(undated.get('a')).toBeGreaterThan(undated.get('b') as number)
  }))
