import { expect, test } from 'vitest'
import type { ParsedFeed } from './parsed-feed.ts'
import { parseFile } from './parse-file.ts'
import { resolveXmlBase } from './xml-base.ts'

function parse(text: string): ParsedFeed {
  const parsed = parseFile(Buffer.from(text), { name: 'a.xml', now: new Date('2026-06-01') })
  if (parsed.type !== 'feed') throw new Error(`Not a feed: ${JSON.stringify(parsed)}`)
  return parsed
}
const linksOf = (text: string): unknown[] => parse(text).items.map((item) => item.link)
const atom = (attributes: string, rest: string): string =>
  `<feed xmlns="http://www.w3.org/2005/Atom"${attributes}><title>T</title>${rest}</feed>`

test('nested bases are each resolved against the next outer one', () => {
  const feed = parse(
    atom(
      ' xml:base="https://example.org/blog/"',
      `<link rel="self" href="atom.xml"/><link href="."/>
       <entry xml:base="2026/"><title>a</title><link href="one?x=1&amp;y=2"/></entry>
       <entry xml:base="/up/"><title>b</title><link xml:base='deeper/' href='two'/></entry>
       <entry xml:base="http://example.com/"><title>c</title><link href="https://example.net/whole"/></entry>
       <entry><title>d</title><content src="three.png" type="image/png"/></entry>
       <entry><title>e</title><link href="four"/></entry>`,
    ),
  )
  expect([feed.feedLink, feed.link]).toEqual([
    'https://example.org/blog/atom.xml',
    'https://example.org/blog/',
  ])
  expect(feed.items.map((item) => item.link)).toEqual([
    'https://example.org/blog/2026/one?x=1&y=2',
    'https://example.org/up/deeper/two',
    'https://example.net/whole',
    'https://example.org/blog/three.png',
    'https://example.org/blog/four',
  ])
})

test('the outermost base is resolved against the feed’s own address', () => {
  const entry = '<entry xml:base="posts/"><title>a</title><link href="one"/></entry>'
  const self = '<link rel="self" href="https://example.org/feeds/main.atom"/>'
  expect(linksOf(atom('', self + entry))).toEqual(['https://example.org/feeds/posts/one'])
  expect(linksOf(atom('', entry + self))).toEqual(['https://example.org/feeds/posts/one'])
  const item = '<entry><title>b</title><link rel="self" href="https://example.com/x/y"/></entry>'
  expect(linksOf(atom('', item + entry + self))).toContain('https://example.org/feeds/posts/one')
  expect(linksOf(atom(' xml:base="/"', self + entry))).toEqual(['https://example.org/posts/one'])
  expect(linksOf(atom('', entry))).toEqual([undefined])
})

test('links of an Atom feed without a base are resolved against the feed’s own address', () => {
  const links =
    '<link rel="self" href="https://example.org/feeds/main.atom"/><link href="https://example.org/blog/"/>'
  expect(linksOf(atom('', `${links}<entry><title>a</title><link href="one"/></entry>`))).toEqual([
    'https://example.org/feeds/one',
  ])
})

test('an address in the text of an element is resolved', () => {
  const rss = `<rss version="2.0" xml:base="https://example.org/"><channel><title>T</title><link>blog/</link>
    <item><title>a</title><link> blog/one?x=1&amp;y=2 </link></item>
    <item xml:base="two/"><title>b</title><link><![CDATA[b?x=1&y=2]]></link></item>
    <item><title>c</title><enclosure url="c.mp3" type="audio/mpeg" length="1"/></item></channel></rss>`
  expect(parse(rss).link).toBe('https://example.org/blog/')
  expect(linksOf(rss)).toEqual([
    'https://example.org/blog/one?x=1&y=2',
    'https://example.org/two/b?x=1&y=2',
    'https://example.org/c.mp3',
  ])
})

test('a relative address of the site still resolves the links of items', () => {
  const items = '<item><title>a</title><link>one</link></item>'
  const self = '<atom:link rel="self" href="https://example.org/feed.xml"/>'
  const rss = (channel: string): string =>
    `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>T</title>${channel}${items}</channel></rss>`
  expect(linksOf(rss(`<link>/blog/</link>${self}`))).toEqual(['https://example.org/blog/one'])
  const alternate = '<atom:link rel="alternate" href="https://example.org/weblog/"/>'
  expect(linksOf(rss(`<link>/blog/</link>${alternate}`))).toEqual(['https://example.org/weblog/one'])
  const json = JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    home_page_url: '/blog/',
    feed_url: 'https://example.org/feed.json',
    items: [{ id: '1', title: 'a', url: 'one' }],
  })
  expect(linksOf(json)).toEqual(['https://example.org/blog/one'])
})

test.each([
  '<feed><link href="a"/></feed>',
  '<feed xml:base="not a base"><link href="a"/></feed>',
  '<feed xml:base="https://example.org/"><title>link href="a"</title><!--<link href="a"/>--></feed>',
  '<feed xml:base="https://example.org/"><link',
])('the source stays unchanged: %s', (source) => {
  expect(resolveXmlBase(source)).toBe(source)
})

test('an address cannot break out of its attribute', () => {
  const source = `<feed xml:base="https://example.org/"><link href='a"/><script>&lt;'/></feed>`
  expect(resolveXmlBase(source)).toBe(
    '<feed xml:base="https://example.org/"><link href="https://example.org/a%22/%3E%3Cscript%3E%3C"/></feed>',
  )
})
